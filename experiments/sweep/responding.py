"""Responders to a fixed opponent, OpenSpiel's and ours, and one run of them: values after episodes and seconds."""

import functools
import random
import time

import numpy as np
import pyspiel
from absl import logging
from open_spiel.python import rl_environment

import tmdp_spiel as ts
from experiments.sweep import run
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.spiel.exploit.response import KnownOpponent
from tmdp_spiel.spiel.representatives import representative_states
from tmdp_spiel.spiel.rl_agents import AGENTS, new_agent
from tmdp_spiel.spiel.seats import OtherSeats
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE

PLAYER = 0
SEARCH = {"OpenSpielISMCTS": {"simulations": 1000, "uct_c": 2.0}}
LEARNERS = {"UCT": {}, "UCBT": {}, "BettingUCRL": {}, "PSRL": {"lazy": True}, "BalancedLevels": {}}
NOT_GROWN = ("UCBT",)  # plans over the whole tree
RESPONDERS = {**AGENTS, **SEARCH, **LEARNERS}
_ENOUGH = 1_000_000  # episodes, in place of the processor time, where the tree is enumerated
_PATIENCE = 12  # times the processor time; a run then ends
_SECONDS_A_PIECE = 0.1
_SEARCHED_EPISODES = 100  # a search is slow to value


# A problem, in a worker ---------------------------------------------------------------------------------------------


class Setting:
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


_setting = functools.lru_cache(maxsize=1)(Setting)


def _mean_and_error(utilities) -> tuple[float, float]:
    return float(np.mean(utilities)), float(np.std(utilities, ddof=1) / np.sqrt(len(utilities)))


# Responders: play(number of episodes), and value(seed, fresh episodes): the mean and its error ----------------------


class Agent:
    """An rl_agent of OpenSpiel in rl_environment, as its examples train them."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
        self._setting, self._draw = setting, random.Random(seed).random
        self._seats = OtherSeats(setting.game, PLAYER, setting.opponent)
        sampler = rl_environment.ChanceEventSampler(seed)
        self._environment = rl_environment.Environment(setting.game, chance_event_sampler=sampler)
        np.random.seed(seed)
        self._agent = new_agent(name, PLAYER, self._environment, seed, hyper_parameters)

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
        """Nothing is learned."""

    def value(self, seed: int, episodes: int) -> tuple[float, float]:
        if self._setting.mdp is not None:  # one search a state: unbiased, as no state comes twice in an episode
            return self._setting.exact(self._bot.step), 0.0
        return _mean_and_error(self._setting.won(self._bot.step, seed, min(episodes, _SEARCHED_EPISODES)))


class Learner:
    """One of ours."""

    def __init__(self, setting: Setting, name: str, seed: int, hyper_parameters: dict):
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


def _kind_of(name: str):
    return Agent if name in AGENTS else Search if name in SEARCH else Learner


@functools.cache
def _warm_up(name: str, enumerated: bool) -> None:
    """Compiles on a small game, so that the time of a run is its own."""
    Learner(Setting("kuhn", "uniform", None, enumerated), name, 0, LEARNERS[name]).play(50)


def perform(asked: dict) -> dict:
    """One run: a response, valued after so many episodes and after so much processor time."""
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    name, hyper_parameters = asked["algorithm"], dict(asked["hyper_parameters"])
    enumerated, measured = hyper_parameters.pop("enumerated"), hyper_parameters.pop("measured")
    marks = hyper_parameters.pop("marks")
    setting = _setting(*(asked[each] for each in ("game", "opponent", "iterations")), enumerated)
    if name in LEARNERS:
        _warm_up(name, enumerated)
    start = time.perf_counter()
    responder = _kind_of(name)(setting, name, asked["seed"], hyper_parameters)
    outcome = _valued(responder, marks, asked, enumerated, measured, learns=name not in SEARCH)
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
