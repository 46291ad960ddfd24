"""Invalid calls and command lines, and what their errors must say: what was given and what would be right."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import shlex
import tempfile
import traceback
from collections.abc import Callable

import numpy as np
import pyspiel
from open_spiel.python.bots import uniform_random

import tmdp_spiel as ts
from reference import commands

NAN, INFINITE = float("nan"), float("inf")


@dataclasses.dataclass
class InvalidCall:
    """A call as text, the function that runs it, and what its error must say."""

    text: str
    run: Callable[[], object]
    says: str


@functools.cache
def _mdp(name: str = "kuhn", player: int = 0) -> ts.TreeMDP:
    game = ts.load_game(name)
    return ts.build_tree(game, player, ts.uniform(game))


def _values():
    return ts.UCT(_mdp().tree).init_values(_mdp())


def _call(text: str, says: str, **names) -> InvalidCall:
    """A call that runs its text, so that the table shows exactly what was called."""
    scope = {
        "ts": ts,
        "np": np,
        "pyspiel": pyspiel,
        "nan": NAN,
        "inf": INFINITE,
        "mdp": _mdp,
        "values": _values,
        **names,
    }
    return InvalidCall(text, lambda: eval(text, scope), says)


def _bot(player: int = 1):
    return uniform_random.UniformRandomBot(player, np.random.RandomState(0))


def _files() -> pathlib.Path:
    """A folder with files of other programs."""
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "text").write_text("hello")
    (folder / "folder").mkdir()
    (folder / "twice").write_text('{"0": {"0": 1.0}, "0": {"1": 1.0}}')
    (folder / "list").write_text("[1, 2]")
    return folder


def library_calls() -> list[InvalidCall]:
    """Invalid calls of everything in the top namespace."""
    calls = []

    def add(text, says, **names):
        calls.append(_call(text, says, bot=_bot, files=folder, **names))

    folder = _files()
    # Games.
    for game in (None, 5, "", "kuhnn", "no such game", ["kuhn"], b"kuhn"):
        add(f"ts.load_game({game!r})", "game")
    add("ts.load_game('kuhn(players=2)')", "takes no parameters")
    add("ts.load_game('kuhn_poker(players=77)')", "cannot load")
    add("ts.load_game('kuhn_poker(players')", "cannot load|no game")
    # Trees.
    for player in (2, -1, 0.5, None, "0", True, NAN):
        add(
            f"ts.build_tree('kuhn', {str(player) if player != player else repr(player)}, ts.uniform('kuhn'))",
            "has players 0 .. 1",
        )
    for opponent in ("None", "5", "'unifrom'", "[]", "ts.uniform", "mdp()", "ts.UCT(mdp().tree)"):
        add(f"ts.build_tree('kuhn', 0, {opponent})", "policy")
    add("ts.build_tree('kuhn', 0, {})", "missing for player")
    add("ts.build_tree('kuhn', 0, {'1': ts.uniform('kuhn')})", "missing for player|player's number")
    add("ts.build_tree('kuhn', 0, {1: None})", "policy")
    add("ts.build_tree('kuhn', 0, ts.equilibrium('leduc', 2))", "missing at state|fails at state")
    for nodes in ("0", "-5", "nan", "1.5", "'many'", "None"):
        add(f"ts.build_tree('kuhn', 0, ts.uniform('kuhn'), max_nodes={nodes})", "max_nodes must be a whole number")
        add(f"ts.build_infostate_tree('kuhn', 0, max_nodes={nodes})", "max_nodes must be a whole number")
    add("ts.build_tree('kuhn', 0, ts.uniform('kuhn'), max_nodes=5)", "too large: stopped after 5")
    add("ts.build_tree('mfg_crowd_modelling', 0, None)", "mean-field|policy")
    add("ts.build_tree('rbt', 0, 5)", "policy|must be")
    add("ts.build_tree('rbt', 7, ts.equilibrium('rbt'))", "has players 0 .. 1")
    for iterations in ("0", "-1", "1.5", "nan", "'ten'", "None", "True"):
        add(f"ts.equilibrium('kuhn', {iterations})", "iterations must be a whole number")
    add("ts.uniform(None)", "a game is")
    add("ts.fixed_opponent_game('kuhn', 0, 5)", "policy")
    add("ts.fixed_opponent_game('kuhn', 9, ts.uniform('kuhn'))", "has players")
    # Plans.
    for plan in (
        "None",
        "'plan'",
        "[0]",
        "np.zeros(6)",
        "np.zeros((6, 2), int)",
        "np.full(6, 7)",
        "np.full(12, nan)",
        "{}",
    ):
        add(f"mdp().value({plan})", "plan")
        add(f"mdp().sample({plan}, np.random.default_rng(0))", "plan")
        add(f"ts.plan_to_policy(mdp().tree, {plan})", "plan")
    add("mdp().sample(mdp().best_response()[1], 5)", "rng must be")
    add("mdp().tree.state_string(6)", "is not one of")
    add("mdp().tree.state_index('nowhere')", "no information state")
    add("ts.policy_to_plan(mdp().tree, 5)", "policy")
    # Learners.
    for learner in ("UCT", "UCBT", "BettingUCRL"):
        for tree in ("None", "5", "mdp()", "'kuhn'"):
            add(f"ts.{learner}({tree})", "InfostateTree")
        for seed in ("-1", "0.5", "None", "'a'", "nan", "2**70", "True"):
            add(f"ts.{learner}(mdp().tree, seed={seed})", "seed must be a whole number")
    for value in ("0", "-1", "nan", "inf", "None", "'a'"):
        add(f"ts.UCBT(mdp().tree, c={value})", "c must be a positive number")
        add(f"ts.UCBT(mdp().tree, delta={value})", "delta must lie strictly between 0 and 1")
        add(f"ts.LUCBT(mdp().tree, epsilon={value})", "epsilon must")
    add("ts.UCBT(mdp().tree, bound='none')", "bound must be one of")
    add("ts.UCBT(mdp().tree, bound=['simple'])", "bound must be one of")
    add("ts.UCBT(mdp().tree, baseline=nan)", "baseline must be")
    add("ts.UCBT(mdp().tree, baseline=[1])", "baseline must be")
    for ended_on, value in (
        ("99", "0.5"),
        ("-1", "0.5"),
        ("0.5", "0.5"),
        ("'a'", "0.5"),
        ("None", "0.5"),
        ("nan", "0.5"),
        ("0", "nan"),
        ("0", "2"),
        ("0", "-1"),
        ("0", "None"),
        ("0", "'a'"),
    ):
        add(f"ts.UCT(mdp().tree).learn({ended_on}, {value})", "ends on|return of an episode|cannot end|can end")
    rng = "np.random.default_rng(0)"
    for episodes in ("-1", "0", "1.5", "nan", "None", "'a'", "2**40"):
        add(f"ts.UCT(mdp().tree).play(mdp(), values(), {rng}, {episodes})", "episodes must be a whole number")
        add(f"ts.run(ts.UCT(mdp().tree), mdp(), {episodes})", "episodes must be a whole number")
    for name, player in (("leduc", 0), ("kuhn", 1)):
        add(f"ts.UCT(mdp().tree).play(mdp({name!r}, {player}), values(), {rng}, 10)", "made for another tree")
        add(f"ts.UCT(mdp({name!r}, {player}).tree).play(mdp(), values(), {rng}, 10)", "made for another tree")
        add(f"ts.run(ts.UCT(mdp().tree), mdp({name!r}, {player}), 10)", "made for another tree")
        add(f"ts.run_until_stopped(ts.LUCBT(mdp({name!r}, {player}).tree), mdp())", "made for another tree")
    add(f"ts.UCT(mdp().tree).play(5, values(), {rng}, 10)", "TreeMDP")
    add("ts.UCT(mdp().tree).play(mdp(), values(), 5, 10)", "rng must be")
    # Runs.
    add("ts.run(ts.UCT, mdp(), 10)", "learner")
    add("ts.run(mdp(), ts.UCT(mdp().tree), 10)", "learner")
    add("ts.run(ts.UCT(mdp().tree), mdp().tree, 10)", "TreeMDP")
    for seconds in ("nan", "-1", "'a'"):
        add(f"ts.run(ts.UCT(mdp().tree), mdp(), 10, seconds={seconds})", "seconds must be")
    for every in ("nan", "0", "-1", "'a'"):
        add(f"ts.run(ts.UCT(mdp().tree), mdp(), 10, file=files / 'new', save_every={every})", "save_every must be")
    for places in ("[0]", "[11]", "[]", "[nan]", "'a'", "5", "[1.5]"):
        add(f"ts.run(ts.UCT(mdp().tree), mdp(), 10, measure_at={places})", "measure_at must hold")
    for seed in ("'a'", "-1", "1.5", "nan"):
        add(f"ts.run(ts.UCT(mdp().tree), mdp(), 10, rng={seed})", "rng must be")
    add("ts.run(ts.UCT(mdp().tree), mdp(), 10, file=files / 'text')", "not a checkpoint")
    add("ts.run(ts.UCT(mdp().tree), mdp(), 10, file=files / 'folder')", "directory")
    add("ts.run(ts.UCT(mdp().tree), mdp(), 10, file=files / 'text' / 'below')", "cannot be written|Not a directory")
    add("ts.run_until_stopped(ts.UCT(mdp().tree), mdp())", "no stopping rule")
    add("ts.run_until_stopped(ts.LUCBT(mdp().tree), mdp(), max_episodes=0)", "max_episodes must be")
    # Files.
    add("ts.save_learner(5, files / 'new')", "learner")
    add("ts.save_learner(ts.UCT(mdp().tree), files / 'folder')", "directory")
    for path, says in (
        ("'text'", "not a checkpoint"),
        ("'folder'", "cannot be read|directory"),
        ("'none'", "no checkpoint"),
    ):
        add(f"ts.load_learner(files / {path}, mdp().tree)", says)
    add("ts.load_learner(files / 'text', 5)", "InfostateTree")
    for kind in ("TreeMDP", "InfostateTree"):
        for path in ("text", "folder", "none"):
            add(f"ts.{kind}.load(files / '{path}')", "saved tree")
        add(f"ts.{kind}.load(5)", "path")
    add("mdp().save(files / 'folder')", "exists already")
    add("ts.read_policy(files / 'text', ts.load_game('kuhn'))", "not a policy file")
    add("ts.read_policy(files / 'list', ts.load_game('kuhn'))", "not a policy file")
    add("ts.read_policy(files / 'folder', ts.load_game('kuhn'))", "cannot be read|directory")
    add("ts.read_policy(files / 'none', ts.load_game('kuhn'))", "no policy file|No such file")
    add("ts.read_policy(files / 'twice', ts.load_game('kuhn'))", "twice")
    # Responses.
    for budget in ("episodes", "seconds", "target_width"):
        for value in ("0", "-5", "nan", "'a'"):
            add(f"ts.exploit('kuhn', 'uniform', {budget}={value})", f"{budget} must be")
    for delta in ("0", "1", "nan", "None"):
        add(f"ts.exploit('kuhn', 'uniform', episodes=10, delta={delta})", "delta must lie")
    for opponent in ("None", "5", "'nobody'", "'nowhere.json'", "{}", "[]", "{0: 'uniform'}", "object()"):
        add(f"ts.exploit('kuhn', {opponent}, player=0, episodes=10)", "opponent|player")
    for player in ("2", "-1", "0.5", "'0'", "nan"):
        add(f"ts.exploit('kuhn', 'uniform', player={player}, episodes=10)", "has players 0 .. 1")
    add("ts.exploit('kuhn', bot(0), player=0, episodes=10)", "player")
    add("ts.exploit('kuhn', 'uniform', episodes=10, seed=-1)", "seed must be")
    add("ts.exploit('kuhn', 'uniform', episodes=10, max_nodes=nan)", "max_nodes must be")
    add("ts.exploit('kuhn', 'cfr+', episodes=10, iterations=0)", "iterations must be")
    add("ts.exploit('leduc', 'ismcts', episodes=10, simulations=0)", "simulations must be")
    add("ts.exploit('tic_tac_toe', 'ismcts', episodes=10)", "perfect information")
    add("ts.exploit(ts.UCT(mdp().tree), 'uniform', episodes=10)", "a game is")
    # Agents.
    add("ts.agent.TreeAgent(0, 'kuhn', 'UCTT')", "algorithm|UCT")
    add("ts.agent.TreeAgent(0, 'kuhn', 5)", "algorithm|learner")
    add("ts.agent.TreeAgent(5, 'kuhn', 'UCT')", "has players")
    add("ts.agent.TreeAgent(0, 'kuhn', 'UCT', c=nan)", "c must be a positive number")
    add("ts.agent.TreeAgent(0, 'kuhn', 'UCT').restore(files / 'text')", "not an agent|not a checkpoint")
    return calls


class _TracebackShown(Exception):
    """A command ended with a traceback."""


class _Refused(Exception):
    """A command ended with a message."""


def _command(text: str, says: str) -> InvalidCall:
    def run():
        done = commands.run(*shlex.split(text))
        said = done.stdout + done.stderr
        if done.returncode == 0:
            return
        if "Traceback" in said:
            raise _TracebackShown(said.strip().splitlines()[-1])
        raise _Refused(said)

    return InvalidCall(text, run, says)


def command_calls() -> list[InvalidCall]:
    """Invalid command lines."""
    files = _files()
    sweep = f"experiments.reproduce --only=regret --nofigures --output={files} --games=leduc --players=x --iterations=5"
    sweep += " --runs=1 --episodes=100 --algorithms=UCT"
    solve = "experiments.solve_rbt --game='python_rbt(start=x4o0x8o2x1)' --iterations=2 --threads=1"
    solve += f" --output={files}/policy.bin --checkpoint={files}/checkpoint.npz"
    known = f"{commands.EXPLOIT} --game=kuhn --opponent=uniform --episodes=100"
    return [
        _command(f"{sweep} --output=/proc/nowhere", "/proc/nowhere"),
        _command(f"{sweep} --games=", "games"),
        _command(f"{sweep} --algorithms=", "algorithms"),
        _command(f"{sweep} --players=", "players"),
        _command(f"{sweep} --algorithms=UCTT", "UCTT"),
        _command(f"{sweep} --set UCT.c=nan", "c must be"),
        _command(f"{sweep} --set UCT.d=1", "UCT has no 'd'; it has c"),
        _command(f"{sweep} --set UCBT.c=1", "UCBT, but the learners are UCT"),
        _command(f"{sweep} --only=tables", "choose from stopping_times, value_gap, regret"),
        _command(f"{sweep} --scheduler=elsewhere", "scheduler"),
        _command(f"{solve} --output=/proc/nowhere/a.bin --checkpoint=/proc/nowhere/a.npz", "/proc/nowhere"),
        _command("experiments.solve_rbt --game=kuhn_poker", "kuhn_poker"),
        _command("experiments.solve_rbt --game=nonsense", "nonsense"),
        _command("experiments.solve_rbt --check --policy=/nowhere.bin", "/nowhere.bin"),
        _command(f"{solve} --target=nan", "target"),
        _command(f"{known} --output=/proc/nowhere/a.json", "/proc/nowhere"),
        _command(f"{known} --delta=nan", "delta must lie"),
        _command(f"{known} --seconds=nan", "seconds must be"),
        _command(f"{known} --target_width=-1", "target_width must be"),
        _command(f"{known} --seed=99999999999999999999", "seed"),
        _command(f"{known} --player=7", "has players"),
        _command(f"{commands.EXPLOIT} --game=kuhnn --opponent=uniform", "no game is called"),
        _command("experiments.learn --game=kuhnn", "no game is called"),
        _command("experiments.learn --set UCBT.c=nan", "c must be"),
        _command("experiments.stress.run_all --parts=", "parts"),
    ]


def answer(call: InvalidCall) -> tuple[str, str]:
    """The outcome of a call: ("clear" | "unclear" | "accepted", the error)."""
    try:
        call.run()
    except _TracebackShown as error:
        return "unclear", f"a traceback: {error}"
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = isinstance(error, _Refused) or any(f"/{folder}/" in last for folder in ("tmdp_spiel", "games"))
        text = f"{type(error).__name__}: {error}"
        return ("clear" if ours and re.search(call.says, str(error)) else "unclear"), text
    return "accepted", ""
