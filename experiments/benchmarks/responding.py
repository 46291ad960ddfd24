"""Responders to a fixed opponent, OpenSpiel's and ours, and one run of them: values after episodes and seconds."""

import dataclasses
import functools
import random
import time
import typing

import numpy as np
import pyspiel
from absl import logging
from open_spiel.python import rl_environment

import tmdp_spiel as ts
from experiments.sweep import run
from experiments.sweep.configuration import Configuration, Problem
from experiments.sweep.result import Environment, Responding, Result, Value
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.evaluation.evaluator import KnownOpponent
from tmdp_spiel.exploit.responders.network import NetworkBot
from tmdp_spiel.exploit.responders.network_learner import NetworkLearner, compile_network
from tmdp_spiel.exploit.responders.opponent_model import OpponentModel
from tmdp_spiel.exploit.responders.portfolio import respond_with_portfolio
from tmdp_spiel.exploit.responders.search import SearchBot, SearchConfig
from tmdp_spiel.openspiel.histories import one_history_per_infostate
from tmdp_spiel.openspiel.opponents.episode import Episode
from tmdp_spiel.openspiel.opponents.live import LiveOpponents
from tmdp_spiel.openspiel.solvers import AGENTS, new_agent
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE
from tmdp_spiel.trees.lazy_tree import LazyTree

PLAYER = 0
SEARCH = {"OpenSpielISMCTS": {"simulations": 1000, "uct_c": 2.0}}
LEARNERS: dict[str, dict] = {"UCT": {}, "UCBT": {}, "BettingUCRL": {}, "PSRL": {"lazy": True}, "ThompsonTree": {}}
NOT_GROWN = tuple(name for name in LEARNERS if not find_algorithm(name).grows)
OUR_SEARCH = {"OurSearch": {"simulations": 1000}}
RESPONDERS: dict[str, dict] = {**AGENTS, **SEARCH, **LEARNERS, **OUR_SEARCH, "OurNetwork": {}, "OurPortfolio": {}}
_ENOUGH = 1_000_000  # episodes, in place of the processor time, where the tree is enumerated
_PATIENCE = 12  # times the processor time; a run then ends
_SECONDS_A_PIECE = 0.1
_SEARCHED_EPISODES = 100  # a search is slow to value


# A problem, in a worker ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Valuation:
    """When and how responses are evaluated; stored among the hyper-parameters of a run.

    enumerated: exactly, on the enumerated tree; otherwise on `measured` fresh episodes. marks: after how many episodes.
    """

    enumerated: bool
    measured: int
    marks: list[int]

    @classmethod
    def split(cls, hyper_parameters: dict[str, typing.Any]) -> tuple["Valuation", dict[str, typing.Any]]:
        """The evaluation settings, and the responder's own hyper-parameters."""
        names = {field.name for field in dataclasses.fields(cls)}
        own = {name: value for name, value in hyper_parameters.items() if name not in names}
        return cls(**{name: hyper_parameters[name] for name in names}), own


class Setting:
    """A game and the other players; its Tree MDP if it can be enumerated, otherwise None."""

    def __init__(self, problem: Problem, enumerated: bool):
        self.game = ts.load_game(problem.game)
        self.opponent = run.fixed_opponent(self.game, problem)
        self.mdp = ts.build_tree(self.game, PLAYER, self.opponent) if enumerated else None

    @property
    def known(self) -> ts.TreeMDP:
        """The Tree MDP, of a game that is enumerated."""
        if self.mdp is None:
            raise ValueError(f"{self.game} is not enumerated")
        return self.mdp

    @functools.cached_property
    def states(self) -> list[pyspiel.State]:
        return one_history_per_infostate(self.known.tree, self.game)

    def exact(self, act) -> float:
        """What `act`, a function from a state to an action, wins; it is called only at states that it reaches."""
        tree = self.known.tree
        plan, taken = np.zeros(tree.num_states, PLAN_DTYPE), np.zeros(tree.sequence_end, bool)
        taken[tree.root] = True
        for number in range(tree.num_states):
            if taken[tree.parent[number]]:
                plan[number] = tree.legal_actions(number).tolist().index(act(self.states[number]))
                taken[tree.first_sequence[number] + plan[number]] = True
        return self.known.value(plan)

    def won(self, act, seed: int, episodes: int) -> list[float]:
        """What `act` won in the given number of episodes."""
        opponents, draw = LiveOpponents(self.game, PLAYER, self.opponent), random.Random(seed).random
        utilities = []
        for _ in range(episodes):
            episode = Episode(self.game.new_initial_state(), draw)
            for player in episode:
                own = player == PLAYER
                episode.action = act(episode.state) if own else opponents.move(episode.state, draw())
            utilities.append(episode.state.player_return(PLAYER))
        return utilities


_setting = functools.lru_cache(maxsize=1)(Setting)


def _mean_and_error(utilities) -> tuple[float, float]:
    return float(np.mean(utilities)), float(np.std(utilities, ddof=1) / np.sqrt(len(utilities)))


# Responders: play(number of episodes), and value(seed, fresh episodes): the mean and its error ----------------------


class Agent:
    """An rl_agent of OpenSpiel in rl_environment, as its examples train them."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting, self._draw = setting, random.Random(seed).random
        self._opponents = LiveOpponents(setting.game, PLAYER, setting.opponent)
        sampler = rl_environment.ChanceEventSampler(seed)
        self._environment = rl_environment.Environment(setting.game, chance_event_sampler=sampler)
        np.random.seed(seed)
        self._agent = new_agent(name, PLAYER, self._environment, seed, hyper_parameters)

    def play(self, number: int) -> None:
        environment, opponents, step, draw = self._environment, self._opponents, self._agent.step, self._draw
        for _ in range(number):
            now = environment.reset()
            while not now.last():
                own = now.current_player() == PLAYER
                now = environment.step([step(now).action if own else opponents.move(environment.get_state, draw())])
            step(now)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        if self._setting.mdp is not None:
            return self._setting.exact(self._act), 0.0
        return _mean_and_error(self._setting.won(self._act, seed, episodes))

    def _act(self, state: pyspiel.State) -> int:
        informed = self._setting.game.get_type().provides_information_state_tensor
        tensor = state.information_state_tensor if informed else state.observation_tensor
        players = range(self._setting.game.num_players())
        observations = {
            "info_state": [tensor(PLAYER) if player == PLAYER else None for player in players],
            "legal_actions": [state.legal_actions() if player == PLAYER else None for player in players],
            "current_player": PLAYER,
        }
        shown = rl_environment.TimeStep(observations, None, None, rl_environment.StepType.MID)
        return int(self._agent.step(shown, is_evaluation=True).action)


class Search:
    """A search that knows the rules and not the opponent."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting = setting
        c, simulations = hyper_parameters["uct_c"], hyper_parameters["simulations"]
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        if setting.game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION:
            self._bot = pyspiel.MCTSBot(setting.game, evaluator, c, simulations, 0, False, seed, False)
        else:
            best = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
            self._bot = pyspiel.ISMCTSBot(seed, evaluator, c, simulations, -1, best)

    def play(self, number: int) -> None:
        """Does nothing."""

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        if self._setting.mdp is not None:  # one search a state: unbiased, as no state comes twice in an episode
            return self._setting.exact(self._bot.step), 0.0
        return _mean_and_error(self._setting.won(self._bot.step, seed, min(episodes, _SEARCHED_EPISODES)))


class Learner:
    """One of our learners."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting, mdp = setting, setting.mdp
        self._table: KnownOpponent | ts.LiveGame
        self._table = KnownOpponent(mdp, seed) if mdp is not None else self._live(ts.grow_tree(setting.game, 0), seed)
        self._learner: typing.Any = find_algorithm(name)(self._table.tree, seed=seed, **hyper_parameters)

    def _live(self, tree: LazyTree, seed: int) -> ts.LiveGame:
        return ts.LiveGame(self._setting.game, PLAYER, self._setting.opponent, tree=tree, seed=seed)

    def play(self, number: int) -> None:
        self._table.play(self._learner, number)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        plan = self._learner.recommend()
        if isinstance(self._table, KnownOpponent):
            return self._setting.known.value(plan), 0.0
        tree = self._table.tree
        assert isinstance(tree, LazyTree)
        returns = self._live(tree, seed).measure(plan, episodes)
        return _mean_and_error(tree.min_utility + tree.utility_range * returns)


class _Response:
    """A response that is a bot or a policy, and how it is valued."""

    def __init__(self, setting: Setting, seed: int):
        self._setting, self._seed = setting, seed

    def _value(self, response, seed: int, episodes: int) -> tuple[float, float]:
        act = response.step if hasattr(response, "step") else self._most_probable(response)
        if self._setting.mdp is not None:
            return self._setting.exact(act), 0.0
        return _mean_and_error(self._setting.won(act, seed, episodes))

    def _most_probable(self, policy):
        return lambda state: max(policy.action_probabilities(state, PLAYER).items(), key=lambda each: each[1])[0]


class Network(_Response):
    """Our network responder, with one continuation of every move, as other learners have."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        super().__init__(setting, seed)
        self._learner = NetworkLearner(
            setting.game, PLAYER, setting.opponent, seed, continuations=1, **hyper_parameters
        )

    def play(self, number: int) -> None:
        self._learner.learn(episodes=number)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        return self._value(NetworkBot(self._learner.response(), self._setting.game), seed, episodes)


class FixedOpponentSearch(_Response):
    """Our search, which knows the rules and the opponent's policy, and learns nothing from episodes."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        super().__init__(setting, seed)
        others = {player: setting.opponent for player in range(setting.game.num_players()) if player != PLAYER}
        model = OpponentModel(setting.game, PLAYER, others)
        self._bot = SearchBot(setting.game, PLAYER, model, SearchConfig("search", **hyper_parameters), seed)

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        return self._value(self._bot, seed, min(episodes, _SEARCHED_EPISODES))


class Portfolio(_Response):
    """Our race of responders, with a budget of processor time, of which its certificate takes a part."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        super().__init__(setting, seed)

    def respond(self, seconds: float, seed: int, episodes: int) -> tuple[tuple[float, float], int]:
        """The value and its error, and the episodes of all candidates and of the certificate."""
        found = respond_with_portfolio(
            self._setting.game,
            self._setting.opponent,
            player=PLAYER,
            seconds=seconds,
            seed=self._seed,
            processes=1,
            clock="processor",
            progress=False,
        )
        if found.response is None:
            raise ValueError(f"no candidate finished an episode in {seconds:g} s")
        played = found.episodes + sum(len(each.returns) for each in found.candidates)
        return self._value(found.response, seed, episodes), played


def _kind_of(name: str):
    kinds: dict[str, typing.Any] = {"OurNetwork": Network, "OurSearch": FixedOpponentSearch, "OurPortfolio": Portfolio}
    return kinds.get(name) or (Agent if name in AGENTS else Search if name in SEARCH else Learner)


@functools.cache
def _compile_ahead(name: str, enumerated: bool) -> None:
    """Compiles on a small game, so that the time of a run is its own."""
    Learner(Setting(Problem("kuhn", PLAYER, "uniform", None), enumerated), name, 0, LEARNERS[name]).play(50)


def perform(asked: Configuration) -> Result[Responding]:
    """One run: a response, evaluated after the given numbers of episodes and after the given processor time."""
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    valuation, hyper_parameters = Valuation.split(asked.hyper_parameters)
    setting = _setting(asked.problem, valuation.enumerated)
    if asked.algorithm in LEARNERS:
        _compile_ahead(asked.algorithm, valuation.enumerated)
    elif asked.algorithm == "OurNetwork":
        compile_network()
    start = time.perf_counter()
    responder = _kind_of(asked.algorithm)(setting, asked.algorithm, asked.seed, hyper_parameters)
    values, processor = _valued(responder, asked, valuation)
    seconds = time.perf_counter() - start
    best_value = None if setting.mdp is None else float(setting.mdp.best_response()[0])
    fingerprint = f"{setting.game} against {asked.opponent} {asked.iterations}"
    facts = Environment(str(setting.game), best_value, fingerprint)
    return Result.of(asked, facts, Responding(values), seconds, processor=processor)


def _valued(responder, asked: Configuration, valuation: Valuation) -> tuple[dict[str, Value], float]:
    """The values by number of episodes, and at the end by processor time; and the processor time of learning."""
    seed, limit, marks = asked.seed + 1_000_000, asked.seconds or 0.0, valuation.marks
    if isinstance(responder, Portfolio):
        start = time.process_time()
        (mean, error), played = responder.respond(limit, seed, valuation.measured)
        return {"seconds": Value(mean, error, played)}, time.process_time() - start
    if asked.algorithm in (*SEARCH, *OUR_SEARCH):
        start = time.process_time()
        mean, error = responder.value(seed, valuation.measured)
        value, spent = Value(mean, error, 0), time.process_time() - start
        return dict.fromkeys(map(str, [*marks, "seconds"]), value), spent
    played, spent = 0, 0.0
    values: dict[str, Value] = {}
    while len(values) <= len(marks) and spent < _PATIENCE * limit:
        left = [mark for mark in marks if mark > played]
        piece = max(1, int(_SECONDS_A_PIECE * played / spent)) if spent > 0 else 10
        number = min(piece, left[0] - played if left else piece)
        start = time.process_time()
        responder.play(number)
        spent, played = spent + time.process_time() - start, played + number
        in_time = "seconds" not in values and (spent >= limit or (valuation.enumerated and played >= _ENOUGH))
        reached = [str(played)] * (played in marks) + ["seconds"] * in_time
        for each in reached:
            mean, error = responder.value(seed, valuation.measured)
            values[each] = Value(mean, error, played)
    return values, spent
