"""Resolves opponents: turns a policy, bot, agent, callable, class, file or name into how each player plays."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib
from open_spiel.python.bots import policy as policy_bot

from tmdp_spiel.openspiel.equilibrium import DEFAULT_ITERATIONS, equilibrium
from tmdp_spiel.openspiel.games import game_string, game_title, load_game
from tmdp_spiel.openspiel.opponents.adapters import ACPCBot, HTTPBot, ProcessBot
from tmdp_spiel.openspiel.opponents.adapters.networks import (
    NetworkBot,
    NetworkPolicy,
    as_network,
    is_network,
    is_network_file,
)
from tmdp_spiel.openspiel.opponents.adapters.rlcard import is_rlcard_agent, rlcard_player
from tmdp_spiel.openspiel.opponents.bots import as_bot, bot_name, declared_player, first_decision, why_not_as_player
from tmdp_spiel.openspiel.opponents.fixed import check_player
from tmdp_spiel.openspiel.opponents.seeding import BOTS, derived_seed, has_hidden_state, reseed
from tmdp_spiel.openspiel.opponents.user_files import load_file
from tmdp_spiel.openspiel.opponents.wrappers import (
    CallablePolicy,
    PolicyPlayer,
    SteppingFunction,
    agent_policy,
    agent_title,
    as_probabilities,
    is_agent,
)
from tmdp_spiel.openspiel.policy_files import read_policy, table_policy

NAMES = ("uniform", "cfr+", "mcts", "ismcts")
_FORMS = (
    "an OpenSpiel policy, a bot, an rl_agent, a network (a torch.nn.Module, a model of Stable-Baselines3, "
    "ts.adapters.Network), a function of a state, a table {information state: {action: probability}} or an array, a "
    "class of these or a function that makes one, a mapping from player to any of them, a policy file (.json, .npz) or "
    "network file (.onnx, TorchScript .pt), 'process:command', 'http://127.0.0.1:port', 'acpc:command', "
    "'package.module:Name', "
    f"'file.py:Name', or one of {', '.join(NAMES)}"
)
_UCT_C = 2.0
_BY_ADDRESS = {"process:": ProcessBot, "http://": HTTPBot, "https://": HTTPBot, "acpc:": ACPCBot}
_PICKLES = {
    **dict.fromkeys((".pkl", ".pickle"), "import pickle; agent = pickle.load(open({!r}, 'rb'))"),
    ".joblib": "import joblib; agent = joblib.load({!r})",
    **dict.fromkeys((".pt", ".pth"), "import torch; agent = torch.load({!r}, weights_only=False)"),
}
_FILES = (*_PICKLES, ".json", ".npz", ".onnx", ".zip")


@dataclasses.dataclass
class PlayerPolicy:
    """How a player plays: a policy that can be queried at any state, or a bot that can only be played against."""

    policy: Any = None
    bot: Any = None
    title: str = ""
    seeded: bool = False  # it was made here, with a seed that it asked for

    @property
    def known(self) -> bool:
        return self.policy is not None


@dataclasses.dataclass
class Opponent:
    """How each player plays, and their names.

    source: what the user passed, with names and files resolved
    """

    title: str
    players: dict[int, PlayerPolicy]
    source: Any = None

    def known(self, player: int) -> bool:
        """Whether the policies of all the others are known."""
        return all(each.known for other, each in self.players.items() if other != player)

    def policies(self, player: int) -> dict[int, Any]:
        """The policies of all the others."""
        return {other: each.policy for other, each in self.players.items() if other != player}

    def bots(self, player: int, game: pyspiel.Game, seed: int) -> dict[int, pyspiel.Bot]:
        """All the others as bots."""
        return {
            other: as_bot(each.bot if each.bot is not None else PolicyPlayer(game, each.policy, other, seed))
            for other, each in self.players.items()
            if other != player
        }

    def check_reseedable(self, why: str) -> None:
        """Raises an error for bots whose random numbers can neither be seeded nor read, if they would be repeated."""
        for player, each in self.players.items():
            if each.bot is not None and not each.seeded and has_hidden_state(as_bot(each.bot).inner):
                raise ValueError(
                    f"{each.title or self.title}, as player {player}, is or holds a bot in C++, whose random numbers "
                    f"cannot be seeded from outside, and {why}: it would repeat its draws, and certificates would be "
                    "wrong. Give its class, 'file.py:Name', or a function at the top level of a module that takes "
                    "seed and makes the bot, such as def make(seed): return pyspiel.make_uniform_random_bot(1, seed)"
                )

    def reseed(self, seed: int) -> None:
        """Reseeds all bots, each with its own seed."""
        for player, each in self.players.items():
            if each.bot is not None:
                reseed(as_bot(each.bot).inner, derived_seed(seed, BOTS, player))

    def possible_responders(self, game: pyspiel.Game) -> list[int]:
        """The players that can respond: all other players have an opponent."""
        everyone = set(range(game.num_players()))
        return [player for player in everyone if everyone - {player} <= set(self.players)]


def resolve_opponent(
    game: pyspiel.Game,
    source,
    *,
    player: int | None = None,
    seed: int = 0,
    iterations: int = DEFAULT_ITERATIONS,
    simulations: int = 100,
) -> Opponent:
    """The opponent that a user has passed in any form.

    Args:
        game: the game, turn-based.
        source: the opponent, in any form.
        player: the player that will respond; a bot without `player_id` then plays all others.
        seed: for bots that are made here.
        iterations: of CFR+, for "cfr+".
        simulations: per move, for "mcts" and "ismcts".
    """
    resolver = _Resolver(game, player, seed, iterations, simulations)
    title, players = resolver.resolve(source)
    if not players:
        raise ValueError(f"the opponent does not play as any player of {game_title(game)}: {source!r}")
    return Opponent(title, players, resolver.source)


class _Resolver:
    def __init__(self, game, player, seed, iterations, simulations):
        self.game, self.player, self.seed = game, player, seed
        self.iterations, self.simulations = iterations, simulations
        everyone = range(game.num_players())
        self.others = [other for other in everyone if other != player]
        self.source: Any = None

    def resolve(self, source) -> tuple[str, dict[int, PlayerPolicy]]:
        self.source = source
        if isinstance(source, str):
            return self._named(source)
        if isinstance(source, pathlib.Path):
            return self._file(str(source))
        if isinstance(source, Mapping) and not source:
            raise ValueError(f"an empty mapping names no player and no information state; an opponent is {_FORMS}")
        if isinstance(source, Mapping) and all(isinstance(player, (int, np.integer)) for player in source):
            return self._mapping({check_player(self.game, player): each for player, each in source.items()})
        if isinstance(source, (list, tuple)):
            if len(source) > self.game.num_players():
                raise ValueError(f"{len(source)} opponents for {self.game.num_players()} players")
            return self._mapping({player: each for player, each in enumerate(source) if each is not None})
        if isinstance(source, np.ndarray):
            return "a policy table", {player: self._table(source, player) for player in self.others}
        if isinstance(source, Mapping) and all(isinstance(key, str) for key in source):
            return "the policy of a table", self._everywhere(table_policy(source, self.game))
        players: dict[int, PlayerPolicy] = {}
        reasons = {}
        for player in self._players_of(source):
            made = self._makes(source)
            each = self._make(source, player) if made else source
            reasons[player] = self._why_not(each, player)
            if reasons[player] is None:
                players[player] = self._player_policy(each, player)
                players[player].seeded = made and self._takes_seed(source)
        if not players:
            why = "; ".join(f"as player {player} it {reason}" for player, reason in reasons.items())
            raise ValueError(
                f"{bot_name(source)} cannot play as these players: {why}; give a mapping from player to opponent, or "
                "respond as another player"
            )
        return " and ".join(dict.fromkeys(each.title for each in players.values())), players

    def _why_not(self, source, player: int) -> str | None:
        """Why an opponent cannot be asked for a move as a player."""
        declared = declared_player(source)
        if declared not in (None, player):
            return f"says that it is player {declared}"
        return why_not_as_player(source, self.game, player)

    def _mapping(self, sources) -> tuple[str, dict[int, PlayerPolicy]]:
        players, titles, opened = {}, [], {}
        for player, source in sources.items():
            alone = _Resolver(self.game, None, self.seed, self.iterations, self.simulations)
            alone.others = [player]
            title, found = alone.resolve(source)
            if player not in found:
                raise ValueError(f"{title} is player {', '.join(map(str, found))}, but was given for player {player}")
            players[player] = found[player]
            titles.append(title)
            opened[player] = alone.source
        self.source = opened
        return " and ".join(dict.fromkeys(titles)), players

    def _players_of(self, source) -> list[int]:
        """The players that it can play: the one in its player_id, or any of the others."""
        if isinstance(source, policy_lib.Policy) and source.player_ids is not None:
            players = [player for player in source.player_ids if player in self.others]
            return players or list(source.player_ids)
        declared = declared_player(source)
        if declared is None:
            return self.others
        if declared not in self.others:
            others = ", ".join(str(player) for player in range(self.game.num_players()) if player != declared)
            raise ValueError(
                f"{bot_name(source)} says that it is player {declared}, which here is "
                f"{'the player that responds' if declared == self.player else 'not its own'}; give it another player, "
                f"or exploit it from player {others}"
            )
        return [declared]

    def _check_game(self, made_for, title: str) -> None:
        """Raises an error for a policy whose game is another one."""
        if not isinstance(made_for, pyspiel.Game):
            return
        other = load_game(made_for)
        if _rules_of(other) != _rules_of(self.game):
            raise ValueError(
                f"{title} is a policy of {game_string(other)}, but the game is {game_string(self.game)}; give a policy "
                "of that game"
            )

    def _player_policy(self, source, player: int) -> PlayerPolicy:
        title = bot_name(source)
        if isinstance(source, policy_lib.Policy):
            self._check_game(source.game, title)
        if isinstance(source, (policy_lib.Policy, pyspiel.Policy)):
            return PlayerPolicy(policy=source, title=title)
        if isinstance(source, policy_bot.PolicyBot):
            return PlayerPolicy(policy=source._policy, title=title)
        if is_rlcard_agent(source):
            found = rlcard_player(self.game, source, player)
            known = isinstance(found, policy_lib.Policy)
            return PlayerPolicy(policy=found if known else None, bot=None if known else as_bot(found), title=title)
        if is_agent(source):
            return PlayerPolicy(policy=agent_policy(self.game, source, player), title=agent_title(source))
        if isinstance(source, pyspiel.Bot):
            return PlayerPolicy(bot=as_bot(source), title=title)
        if callable(getattr(source, "action_probabilities", None)):
            return PlayerPolicy(
                policy=CallablePolicy(self.game, source.action_probabilities, player, title), title=title
            )
        if callable(getattr(source, "prior", None)) and callable(getattr(source, "evaluate", None)):
            # An evaluator of AlphaZero: its network's policy, without a search.
            return PlayerPolicy(policy=CallablePolicy(self.game, source.prior, player, title), title=title)
        if callable(getattr(source, "step", None)):
            return PlayerPolicy(bot=as_bot(source), title=title)
        if is_network(source):
            network = as_network(source)
            if network.outputs == "actions":
                return PlayerPolicy(bot=as_bot(NetworkBot(self.game, network, player)), title=network.name)
            return PlayerPolicy(policy=NetworkPolicy(self.game, network, player), title=network.name)
        if callable(source) and not isinstance(source, type):
            return self._callable(source, player)
        raise TypeError(f"an opponent is {_FORMS}; not a {type(source).__name__}")

    def _callable(self, function: Callable, player: int) -> PlayerPolicy:
        """A function of a state: a policy if it returns probabilities, a bot if it returns an action."""
        title, state = bot_name(function), first_decision(self.game, player)
        if state is not None:
            answer = function(state)
            if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool):
                return PlayerPolicy(bot=as_bot(SteppingFunction(function)), title=title)
            as_probabilities(answer, state, player)
        return PlayerPolicy(policy=CallablePolicy(self.game, function, player, title), title=title)

    def _makes(self, source) -> bool:
        """Whether it makes opponents: a class, or a function whose required arguments are all known here."""
        if isinstance(source, type):
            return True
        if not (inspect.isroutine(source) or isinstance(source, functools.partial)):
            return False
        try:
            parameters = list(inspect.signature(source).parameters.values())
        except ValueError:
            return False
        return not parameters or parameters[0].name in self._known(0)

    def _known(self, player: int) -> dict[str, Any]:
        """The arguments that are passed to makers of opponents, by name."""
        return {
            "game": self.game,
            **dict.fromkeys(("player", "player_id", "seat", "pid"), player),
            "seed": self._seed_of(player),
            "rng": np.random.default_rng(self._seed_of(player)),
            "num_actions": self.game.num_distinct_actions(),
            "num_players": self.game.num_players(),
        }

    def _seed_of(self, player: int) -> int:
        return derived_seed(self.seed, BOTS, player, bits=31)

    def _takes_seed(self, kind: Callable) -> bool:
        try:
            return not {"seed", "rng"}.isdisjoint(inspect.signature(kind).parameters)
        except ValueError:
            return False

    def _make(self, kind: Callable, player: int):
        """An object of the class, or the function's result, called with the arguments that it takes by name."""
        known = self._known(player)
        try:
            parameters = list(inspect.signature(kind).parameters.values())
        except ValueError:
            parameters = []
        named = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        missing = [each.name for each in named if each.default is each.empty and each.name not in known]
        if missing:
            raise TypeError(
                f"{bot_name(kind)} needs {', '.join(missing)}, but only {', '.join(known)} are passed; give an object "
                "instead of the class, or a function without arguments that makes one"
            )
        try:
            return kind(**{each.name: known[each.name] for each in named if each.name in known})
        except (Exception, SystemExit) as error:
            if "__init__() must be called" in str(error):
                raise TypeError(
                    f"{bot_name(kind)}.__init__ must call super().__init__(), which pyspiel.Bot needs"
                ) from None
            raise ValueError(f"the opponent {bot_name(kind)} could not be made: {error!r}") from error

    def _named(self, name: str) -> tuple[str, dict[int, PlayerPolicy]]:
        if name == "uniform":
            return "the uniform policy", self._everywhere(policy_lib.UniformRandomPolicy(self.game))
        if name == "cfr+":
            policy = equilibrium(self.game, self.iterations)
            done = getattr(policy, "iterations", self.iterations)
            title = f"CFR+ after {done} iterations" if done else "an equilibrium"
            return title, self._everywhere(policy)
        if name in ("mcts", "ismcts"):
            bots = {player: PlayerPolicy(bot=self._search(name, player), seeded=True) for player in self.others}
            return f"{name} with {self.simulations} simulations per move", bots
        for prefix, kind in _BY_ADDRESS.items():
            if name.startswith(prefix):
                address = name if "/" in prefix else name.removeprefix(prefix).strip()
                return self.resolve(kind(address, seed=self._seed_of(self.game.num_players())))
        if (
            ("/" in name or pathlib.Path(name).suffix in _FILES)
            and ":" not in name
            and not pathlib.Path(name).is_file()
        ):
            raise ValueError(f"the opponent cannot be read: there is no file {name!r}")
        module, colon, attribute = name.rpartition(":")
        if colon and attribute.isidentifier():
            return self.resolve(_import(module, attribute))
        if pathlib.Path(name).is_file():
            return self._file(name)
        raise ValueError(f"an opponent is {_FORMS}; there is no file {name!r}")

    def _table(self, source, player: int) -> PlayerPolicy:
        from tmdp_spiel.openspiel.policy_tables import array_policy  # which imports this module

        return PlayerPolicy(policy=array_policy(self.game, player, source))

    def _everywhere(self, policy) -> dict[int, PlayerPolicy]:
        return {player: PlayerPolicy(policy=policy) for player in self.others}

    def _file(self, name: str) -> tuple[str, dict[int, PlayerPolicy]]:
        self.source = pathlib.Path(name)
        if name.endswith(".py"):
            raise ValueError(f"say which class, function or object of {name} is the opponent: '{name}:Name'")
        if name.endswith(".npz"):
            return f"the table in {name}", {player: self._table(name, player) for player in self.others}
        if is_network_file(name):
            network = as_network(name)
            return network.name, {player: self._player_policy(network, player) for player in self.others}
        load = _PICKLES.get(pathlib.Path(name).suffix)
        if load is not None:
            raise ValueError(
                f"{name} may run code when it is loaded, so it is not loaded here. Load it yourself and pass the "
                f"object: {load.format(name)}. For the command, put this line into a file my_agent.py and give "
                "'my_agent.py:agent'"
            )
        return f"the policy in {name}", self._everywhere(read_policy(name, self.game))

    def _search(self, name: str, player: int) -> pyspiel.Bot:
        seed = self._seed_of(player)
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        perfect = self.game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION
        if perfect != (name == "mcts"):
            kind, other = ("perfect", "mcts") if perfect else ("imperfect", "ismcts")
            raise ValueError(f"{game_title(self.game)} has {kind} information: {other!r} can play it, {name!r} cannot")
        if name == "mcts":
            return pyspiel.MCTSBot(self.game, evaluator, _UCT_C, self.simulations, 0, False, seed, False)
        return pyspiel.ISMCTSBot(seed, evaluator, _UCT_C, self.simulations)


def _rules_of(game: pyspiel.Game) -> tuple:
    """What identifies a game: its name and all parameters, with their defaults."""
    return game.get_type().short_name, game.get_parameters()


def _import(module: str, attribute: str):
    """The object `attribute` of an importable module or of a Python file."""
    if module.endswith(".py"):
        path = pathlib.Path(module)
        if not path.is_file():
            raise ValueError(f"there is no file {module!r} to take the opponent {attribute} from")
        try:
            loaded = load_file(path)
        except (Exception, SystemExit) as error:
            raise ValueError(f"the opponent {module}:{attribute} could not be imported: {error!r}") from error
    else:
        sys.path.insert(0, "")
        try:
            loaded = importlib.import_module(module)
        except (Exception, SystemExit) as error:
            raise ValueError(f"the opponent {module}:{attribute} could not be imported: {error!r}") from error
        finally:
            sys.path.remove("")
    if not hasattr(loaded, attribute):
        names = [name for name in vars(loaded) if not name.startswith("_")]
        raise ValueError(f"{module} has no {attribute}; it has {', '.join(names)}")
    return getattr(loaded, attribute)
