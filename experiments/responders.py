"""What a user would pick instead: responses by OpenSpiel's agents and by our learners, one table.

    python -m experiments.responders
    python -m experiments.responders --problems=leduc --algorithms=OpenSpielDQNAdam,UCT --runs=2

Every responder gets the same opponent, then the same episodes, then the same processor time. Every run is kept as it
ends; started again, the command goes on with the runs that are missing. DQN needs torch: pip install
'tmdp-spiel[torch]'.

- OpenSpielDQN: as OpenSpiel's examples/rl_response.py sets it, in pytorch; OpenSpielDQNAdam: with Adam instead of SGD.
- OpenSpielQLearner: the tabular Q-learner at its defaults.
- OpenSpielISMCTS: information-set Monte Carlo tree search (MCTS where information is perfect). It knows the rules and
  plans anew at every move, for an opponent who searches as it does and rolls out at random; it learns nothing from
  episodes. Only games that can resample a state from what a player knows.
- Our learners, at the paper's constants where it has any, else their defaults: compiled on the enumerated tree where
  there is one, else live on a tree that grows.

A response is valued exactly where the tree is enumerated, else on fresh episodes.
"""

import collections
import functools
import random
import time

import numpy as np
import pyspiel
from absl import flags, logging
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import tabular_qlearner

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import flags as sweep_flags, run
from experiments.sweep.configuration import configuration
from experiments.sweep.names import label
from experiments.sweep.tables import markdown
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.spiel.exploit.response import KnownOpponent
from tmdp_spiel.spiel.representatives import representative_states
from tmdp_spiel.spiel.seats import OtherSeats
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE

Problem = collections.namedtuple("Problem", ["game", "opponent", "iterations", "enumerated", "marks"])

PLAYER = 0
PROBLEMS = {
    "leduc, uniform": Problem("leduc", "uniform", None, True, (10_000, 45_000)),
    "leduc, CFR+ after 10": Problem("leduc", "cfr+", 10, True, (10_000,)),
    "leduc, CFR+ after 1000": Problem("leduc", "cfr+", 1000, True, (10_000,)),
    "liars_dice": Problem("liars_dice", "uniform", None, True, (10_000,)),
    "goofspiel 6": Problem(
        "goofspiel(imp_info=True,num_cards=6,points_order=descending)", "uniform", None, True, (10_000,)
    ),
    "phantom_ttt": Problem("phantom_ttt", "uniform", None, False, (10_000,)),
    "liars_dice(numdice=2)": Problem("liars_dice(numdice=2)", "uniform", None, False, (10_000,)),
    "dark_hex(board_size=3)": Problem("dark_hex(board_size=3)", "uniform", None, False, (10_000,)),
    "connect_four": Problem("connect_four", "uniform", None, False, (10_000,)),
}
_DQN = {
    "hidden_layers_sizes": [64, 64, 64],
    "replay_buffer_capacity": 100_000,
    "batch_size": 32,
    "discount_factor": 0.99,
    "epsilon_start": 0.5,
    "epsilon_end": 0.1,
}
_AGENTS = {
    "OpenSpielDQN": {**_DQN, "optimizer_str": "sgd", "learning_rate": 0.01},
    "OpenSpielDQNAdam": {**_DQN, "optimizer_str": "adam", "learning_rate": 0.001},
    "OpenSpielQLearner": {},
}
_SEARCH = {"OpenSpielISMCTS": {"simulations": 1000, "uct_c": 2.0}}
_LEARNERS = {"UCT": {}, "UCBT": {}, "BettingUCRL": {}, "PSRL": {"lazy": True}, "BalancedLevels": {}}
_NOT_GROWN = ("UCBT",)  # plans over the whole tree
_RESPONDERS = {**_AGENTS, **_SEARCH, **_LEARNERS}
_ENOUGH = 1_000_000  # episodes, in place of the processor time, where the tree is enumerated
_PATIENCE = 12  # times the processor time; a run then ends
_SECONDS_A_PIECE = 0.1
_SEARCHED_EPISODES = 100  # a search is slow to value

_PROBLEMS = flags.DEFINE_list("problems", None, "Problems whose names begin like any of these; all if not given.")
_RUNS = flags.DEFINE_integer("runs", 5, "Runs of each responder.", lower_bound=1)
_EPISODES = flags.DEFINE_list("episodes", None, "When responses are valued; if not given, as the problem has it.")
_SECONDS = flags.DEFINE_float("seconds", 10.0, "Processor time after which they are valued.", lower_bound=0.0)
_MEASURED = flags.DEFINE_integer("measured", 2_000, "Fresh episodes that value a response.", lower_bound=2)
_ALGORITHMS = sweep_flags.define_choice("algorithms", tuple(_RESPONDERS), "Responders")
flags.adopt_module_key_flags(sweep_flags)


# A problem, in a worker ---------------------------------------------------------------------------------------------


class _Setting:
    """A game and who else sits there; the Tree MDP where it can be enumerated, else None."""

    def __init__(self, game: str, opponent: str, iterations: int | None, enumerated: bool):
        self.game = ts.load_game(game)
        self.opponent = run.fixed_opponent(self.game, opponent, iterations)
        self.mdp = ts.build_tree(self.game, PLAYER, self.opponent) if enumerated else None

    @functools.cached_property
    def states(self) -> list[pyspiel.State]:
        return representative_states(self.mdp.tree, self.game)

    def exact(self, act) -> float:
        """What act, a function from a state to an action, wins; asked only where it comes to."""
        tree = self.mdp.tree
        plan, taken = np.zeros(tree.num_states, PLAN_DTYPE), np.zeros(tree.num_sequences + 1, bool)
        taken[tree.root] = True
        for number in range(tree.num_states):
            if taken[tree.parent[number]]:
                plan[number] = tree.legal_actions(number).tolist().index(act(self.states[number]))
                taken[tree.first_sequence[number] + plan[number]] = True
        return self.mdp.value(plan)

    def won(self, act, seed: int, episodes: int) -> list[float]:
        """What act won in so many episodes."""
        seats, draw = OtherSeats(self.game, PLAYER, self.opponent), random.Random(seed).random
        utilities = []
        for _ in range(episodes):
            state = self.game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, chances = zip(*state.chance_outcomes())
                    action = outcomes[min(int(np.searchsorted(np.cumsum(chances), draw())), len(outcomes) - 1)]
                elif state.current_player() == PLAYER:
                    action = act(state)
                else:
                    action = seats.move(state, draw())
                state.apply_action(action)
            utilities.append(state.player_return(PLAYER))
        return utilities


_setting = functools.lru_cache(maxsize=1)(_Setting)


def _mean_and_error(utilities) -> tuple[float, float]:
    return float(np.mean(utilities)), float(np.std(utilities, ddof=1) / np.sqrt(len(utilities)))


# Responders: play(number of episodes), and value(seed, fresh episodes): the mean and its error ----------------------


class _Agent:
    """An rl_agent of OpenSpiel in rl_environment, as its examples train them."""

    def __init__(self, setting: _Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting, self._draw = setting, random.Random(seed).random
        self._seats = OtherSeats(setting.game, PLAYER, setting.opponent)
        sampler = rl_environment.ChanceEventSampler(seed)
        self._environment = rl_environment.Environment(setting.game, chance_event_sampler=sampler)
        np.random.seed(seed)
        actions = setting.game.num_distinct_actions()
        if name == "OpenSpielQLearner":
            self._agent = tabular_qlearner.QLearner(PLAYER, actions, **hyper_parameters)
        else:
            inputs = self._environment.observation_spec()["info_state"][0]
            self._agent = _dqn().DQN(PLAYER, inputs, actions, seed=seed, **hyper_parameters)

    def play(self, number: int) -> None:
        environment, seats, step, draw = self._environment, self._seats, self._agent.step, self._draw
        for _ in range(number):
            now = environment.reset()
            while not now.last():
                own = now.current_player() == PLAYER
                now = environment.step([step(now).action if own else seats.move(environment.get_state, draw())])
            step(now)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        if self._setting.mdp is not None:
            return self._setting.exact(self._act), 0.0
        return _mean_and_error(self._setting.won(self._act, seed, episodes))

    def _act(self, state: pyspiel.State) -> int:
        informed = self._setting.game.get_type().provides_information_state_tensor
        tensor = state.information_state_tensor if informed else state.observation_tensor
        observations = {"info_state": [None] * 2, "legal_actions": [None] * 2, "current_player": PLAYER}
        observations["info_state"][PLAYER], observations["legal_actions"][PLAYER] = (
            tensor(PLAYER),
            state.legal_actions(),
        )
        shown = rl_environment.TimeStep(observations, None, None, rl_environment.StepType.MID)
        return int(self._agent.step(shown, is_evaluation=True).action)


class _Search:
    """A search that knows the rules and not the opponent."""

    def __init__(self, setting: _Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting = setting
        c, simulations = hyper_parameters["uct_c"], hyper_parameters["simulations"]
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        if setting.game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION:
            self._bot = pyspiel.MCTSBot(setting.game, evaluator, c, simulations, 0, False, seed, False)
        else:
            best = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
            self._bot = pyspiel.ISMCTSBot(seed, evaluator, c, simulations, -1, best)

    def play(self, number: int) -> None:
        """Nothing is learned."""

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        if self._setting.mdp is not None:  # one search a state: unbiased, as no state comes twice in an episode
            return self._setting.exact(self._bot.step), 0.0
        return _mean_and_error(self._setting.won(self._bot.step, seed, min(episodes, _SEARCHED_EPISODES)))


class _Learner:
    """One of ours."""

    def __init__(self, setting: _Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting, mdp = setting, setting.mdp
        self._table = KnownOpponent(mdp, seed) if mdp is not None else self._live(ts.grow_tree(setting.game, 0), seed)
        self._learner = find_algorithm(name)(self._table.tree, seed=seed, **hyper_parameters)

    def _live(self, tree: ts.DecisionTree, seed: int) -> ts.LiveGame:
        return ts.LiveGame(self._setting.game, PLAYER, self._setting.opponent, tree=tree, seed=seed)

    def play(self, number: int) -> None:
        self._table.play(self._learner, number)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        plan, tree = self._learner.recommend(), self._table.tree
        if self._setting.mdp is not None:
            return self._setting.mdp.value(plan), 0.0
        returns = self._live(tree, seed).measure(plan, episodes)
        return _mean_and_error(tree.min_utility + tree.utility_range * returns)


def _dqn():
    try:
        import torch
        from open_spiel.python.pytorch import dqn
    except ImportError as error:
        raise ValueError(f"DQN needs torch ({error}): pip install 'tmdp-spiel[torch]', or give --algorithms") from None
    torch.set_num_threads(1)
    return dqn


def _kind_of(name: str):
    return _Agent if name in _AGENTS else _Search if name in _SEARCH else _Learner


@functools.cache
def _warm_up(name: str, enumerated: bool) -> None:
    """Compiles on a small game, so that the time of a run is its own."""
    _Learner(_Setting("kuhn", "uniform", None, enumerated), name, 0, _LEARNERS[name]).play(50)


def perform(asked: dict) -> dict:
    """One run: a response, valued after so many episodes and after so much processor time."""
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    name, hyper_parameters = asked["algorithm"], dict(asked["hyper_parameters"])
    enumerated, measured = hyper_parameters.pop("enumerated"), hyper_parameters.pop("measured")
    marks = hyper_parameters.pop("marks")
    setting = _setting(*(asked[each] for each in ("game", "opponent", "iterations")), enumerated)
    if name in _LEARNERS:
        _warm_up(name, enumerated)
    start = time.perf_counter()
    responder = _kind_of(name)(setting, name, asked["seed"], hyper_parameters)
    outcome = _valued(responder, marks, asked, enumerated, measured, learns=name not in _SEARCH)
    timing = {"seconds": time.perf_counter() - start, "processor": outcome.pop("processor")}
    facts = {
        "game_string": str(setting.game),
        "best_value": None if setting.mdp is None else float(setting.mdp.best_response()[0]),
        "fingerprint": f"{setting.game} against {asked['opponent']} {asked['iterations']}",
    }
    return run.result(asked, facts, outcome, timing)


def _valued(responder, marks: list[int], asked: dict, enumerated: bool, measured: int, learns: bool) -> dict:
    """By the number of episodes, and in the end by processor time: the value, its error, the episodes so far."""
    seed, limit = asked["seed"] + 1_000_000, asked["seconds"]
    if not learns:
        start = time.process_time()
        value = [*responder.value(seed, measured), 0]
        return {"values": dict.fromkeys(map(str, [*marks, "seconds"]), value), "processor": time.process_time() - start}
    played, spent, values = 0, 0.0, {}
    while len(values) <= len(marks) and spent < _PATIENCE * limit:
        left = [mark for mark in marks if mark > played]
        piece = max(1, int(_SECONDS_A_PIECE * played / spent)) if spent > 0 else 10
        number = min(piece, left[0] - played if left else piece)
        start = time.process_time()
        responder.play(number)
        spent, played = spent + time.process_time() - start, played + number
        in_time = "seconds" not in values and (spent >= limit or (enumerated and played >= _ENOUGH))
        reached = [str(played)] * (played in marks) + ["seconds"] * in_time
        values |= {each: [*responder.value(seed, measured), played] for each in reached}
    return {"values": values, "processor": spent}


# The table ----------------------------------------------------------------------------------------------------------


def problems() -> dict[str, Problem]:
    asked = _PROBLEMS.value
    return {name: each for name, each in PROBLEMS.items() if asked is None or name.startswith(tuple(asked))}


def can_respond(problem: Problem, name: str) -> bool:
    """Whether that responder can play that game at all."""
    if name in _NOT_GROWN:
        return problem.enumerated
    return name not in _SEARCH or problem.game in ("leduc", "connect_four")  # the others cannot resample


def runs_of(problem: Problem, name: str) -> list[dict]:
    marks = [int(each) for each in _EPISODES.value] if _EPISODES.value else list(problem.marks)
    how = {"enumerated": problem.enumerated, "measured": _MEASURED.value, "marks": marks}
    constants = settings.constants(problem.game, PLAYER, name) if name in _LEARNERS else {}
    return [
        configuration(
            "responding",
            problem.game,
            PLAYER,
            name,
            constants | _RESPONDERS[name] | how,
            seed,
            max(marks),
            opponent=problem.opponent,
            iterations=problem.iterations,
            seconds=_SECONDS.value,
        )
        for seed in range(_RUNS.value)
        if can_respond(problem, name)
    ]


def table(results: dict[str, list[dict]], mark: str, title: str) -> str | None:
    """A row a problem: the mean over the runs, and its standard error; the largest mean is bold."""
    rows = []
    for name, found in results.items():
        values = collections.defaultdict(list)
        for each in found:
            if mark in each["outcome"]["values"]:
                values[each["configuration"]["algorithm"]].append(each["outcome"]["values"][mark][0])
        if values:
            best = found[0]["environment"]["best_value"]
            most = max(np.mean(each) for each in values.values())
            cells = [_cell(values.get(algorithm), most) for algorithm in _ALGORITHMS.value]
            rows.append([name, "" if best is None else f"{best:.3f}", *cells])
    return markdown([title, "best", *map(label, _ALGORITHMS.value)], rows) if rows else None


def _cell(values: list[float] | None, most: float) -> str:
    if not values:
        return "—"
    mean = f"{np.mean(values):.3f}"
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return (f"**{mean}**" if np.mean(values) == most else mean) + error


def main() -> None:
    logging.set_verbosity(logging.WARNING)
    if any(name.startswith("OpenSpielDQN") for name in _ALGORITHMS.value):
        _dqn()
    results = {}
    for name, problem in problems().items():
        wanted = [each for algorithm in _ALGORITHMS.value for each in runs_of(problem, algorithm)]
        results[name] = sweep_flags.carry_out(wanted, perform)
    found = [each for of in results.values() for each in of]
    marks = sorted({int(mark) for each in found for mark in each["outcome"]["values"] if mark != "seconds"})
    for mark in marks:
        print(table(results, str(mark), f"after {mark:,} episodes"), end="\n\n")
    print(table(results, "seconds", f"after {_SECONDS.value:g} s of processor time"))


if __name__ == "__main__":
    sweep_flags.run_binary(main)
