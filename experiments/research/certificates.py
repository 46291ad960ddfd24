"""How often the sharper certificates are wrong, on problems where a wrong proof would show.

delta is large and the problems are small, so that errors are as likely as possible. Intervals that hold at all times
are checked often, and count as wrong if they were wrong once. The same runs are made with intervals that are wrong on
purpose, 3 and 20 times too narrow (and, for bots that fail, with failed episodes left out). The measurement is
meaningful only if it distinguishes the two.
"""

import dataclasses
import functools
import pathlib
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import tmdp_spiel as ts
from experiments.research.options import Options
from experiments.research.problems import problems
from tmdp_spiel.algorithms.betting_in_stages import BettingInStages
from tmdp_spiel.algorithms.betting_on_answers import BettingOnAnswers
from tmdp_spiel.algorithms.betting_on_histories import BettingOnHistories
from tmdp_spiel.algorithms.betting_on_values import BettingOnValues
from tmdp_spiel.bounds.betting import lower_mean, upper_mean
from tmdp_spiel.bounds.relaxation import Relaxation
from tmdp_spiel.bounds.sequence_values import upper_values
from tmdp_spiel.bounds.threshold import decide_above
from tmdp_spiel.exploit import large_game, large_game_beliefs as known_large
from tmdp_spiel.exploit.belief_bounds import BeliefBounds
from tmdp_spiel.exploit.revealed_chance import RevealedChance
from tmdp_spiel.openspiel.histories import build_history_tree
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.openspiel.opponents.queried_game import QueriedGame
from tmdp_spiel.openspiel.policy_files import table_policy

FACTORS = (1.0, 3.0, 20.0)  # how many times too narrow: the certificate itself, and the broken ones
_SLOW_SHARE = 5  # one in so many runs of what plays through the game itself
_ASKED_POLICIES = 10
_MARGIN = 0.02  # between the threshold and the truth, of the range of returns


@dataclasses.dataclass
class Claim:
    """Bounds around a centre, and what they are bounds of; -inf and inf where nothing is said."""

    lower: float
    centre: float
    upper: float
    of_lower: float
    of_upper: float

    def is_wrong(self, factor: float) -> bool:
        """Whether the bounds are wrong if they are that much nearer to the centre."""
        lower = self.centre - (self.centre - self.lower) / factor
        upper = self.centre + (self.upper - self.centre) / factor
        return lower > self.of_lower + 1e-9 or upper < self.of_upper - 1e-9


def middle(lower: float, upper: float, of_lower: float, of_upper: float) -> Claim:
    """An interval around its middle."""
    return Claim(lower, (lower + upper) / 2, upper, of_lower, of_upper)


def wrong_once(claims: Iterator[Claim]) -> tuple[bool, ...]:
    """For each factor, whether any of the claims is wrong."""
    listed = list(claims)
    return tuple(any(claim.is_wrong(factor) for claim in listed) for factor in FACTORS)


def values_claims(mdp: ts.TreeMDP, seed: int, episodes: int, delta: float) -> Iterator[Claim]:
    """The interval of BettingOnValues after every episode."""
    learner, rng = BettingOnValues(mdp.tree, planned=episodes, delta=delta, seed=seed), np.random.default_rng(seed)
    values, best = learner.init_values(mdp), mdp.scaled_best_value
    for _ in range(episodes):
        learner.play(mdp, values, rng, 1)
        lower, upper = learner.lower_bound(), learner.upper_bound()
        yield middle(lower, upper, mdp.scaled_value(learner.recommend()) if lower > 0 else 0.0, best)


def sequences_claims(mdp: ts.TreeMDP, seed: int, episodes: int, delta: float) -> Iterator[Claim]:
    """The upper bound by sequences with shares by policy, twenty times."""
    learner, rng = ts.BettingUCRL(mdp.tree, delta=delta, seed=seed), np.random.default_rng(seed)
    values, best = learner.init_values(mdp), mdp.scaled_best_value
    for _ in range(20):
        learner.play(mdp, values, rng, max(episodes // 20, 1))
        model = learner._model
        upper = upper_values(mdp.tree, model.visits, model.returns, model.squares, delta)[mdp.tree.root]
        yield Claim(-np.inf, learner.estimate(), upper, np.inf, best)


def relaxation_claims(mdp: ts.TreeMDP, seed: int, number: int, delta: float) -> Iterator[Claim]:
    """Bounds by information relaxation and control variates with a random W, of their means."""
    rng = np.random.default_rng(seed)
    relaxation, plan = Relaxation(mdp, rng.random(mdp.tree.num_states)), mdp.best_response()[1]
    best, scenarios = mdp.scaled_best_value, relaxation.scenarios(number, rng)
    episodes, least = relaxation.episodes(plan, number, rng, clip=0.2)
    upper = upper_mean(scenarios, most=relaxation.most, delta=delta / 2)
    lower = lower_mean(episodes, least=least, delta=delta / 2)
    yield Claim(lower, episodes.mean(), np.inf, best, -np.inf)
    yield Claim(-np.inf, scenarios.mean(), upper, np.inf, best)


class Interval:
    """BettingOnValues on a TreeMDP for decide_above, all of delta on either side."""

    def __init__(self, mdp: ts.TreeMDP, delta: float, seed: int, factor: float):
        self.mdp, self.delta, self.factor, self.rng = mdp, delta, factor, np.random.default_rng(seed)
        self.learner = BettingOnValues(mdp.tree, delta=delta, seed=seed)
        self.values = self.learner.init_values(mdp)

    def play(self, episodes: int) -> int:
        return self.learner.play(self.mdp, self.values, self.rng, episodes)[0]

    def interval(self) -> tuple[float, float]:
        lower, upper = self.learner.lower_bound(self.delta), self.learner.upper_bound(self.delta)
        centre = (lower + upper) / 2
        return centre - (centre - lower) / self.factor, centre + (upper - centre) / self.factor


def decision_wrong(mdp: ts.TreeMDP, seed: int, episodes: int, delta: float) -> tuple[bool, ...]:
    """Whether a threshold a little beside the best value is decided wrongly, looked at after every episode."""
    above = seed % 2 == 0
    threshold = mdp.scaled_best_value + (-_MARGIN if above else _MARGIN)
    answers = []
    for factor in FACTORS:
        found = decide_above(
            [Interval(mdp, delta, seed, factor)], threshold, max_episodes=4 * episodes, first_look=1, growth=1.0001
        )
        answers.append(found.above is not None and found.above != above)
    return tuple(answers)


class Coin:
    """Plays every legal action with the same probability."""

    def __init__(self, seed=0):
        self._random = random.Random(seed)

    def step(self, state):
        return self._random.choice(state.legal_actions())


class FailsWithTheKing(Coin):
    """The same; fails in most moves with the king of Kuhn."""

    def step(self, state):
        if state.history()[state.current_player()] == 2 and self._random.random() < 0.6:
            raise RuntimeError("no memory left")
        return super().step(state)


def revealed_claims(player: int, seed: int, number: int, delta: float) -> Iterator[Claim]:
    """The upper bound by revealed chance, of the mean of its scenarios."""
    game = ts.load_game("kuhn")
    revealed = RevealedChance(game, player, ts.uniform(game), game.min_utility(), game.max_utility(), seed=seed)
    drawn = np.array([revealed.scenario() for _ in range(number)])
    upper = upper_mean(drawn, most=game.max_utility(), delta=delta)
    yield Claim(-np.inf, drawn.mean(), upper, np.inf, _mean_of_scenarios(player))


def _mean_of_scenarios(player: int) -> float:
    """E[H] against uniform in Kuhn, by going through all deals."""
    game = ts.load_game("kuhn")

    def value(state) -> float:
        if state.is_terminal():
            return state.player_return(player)
        below = [value(state.child(action)) for action in state.legal_actions()]
        return max(below) if state.current_player() == player else sum(below) / len(below)

    return value(game.new_initial_state())


def histories_claims(kind, player: int, seed: int, episodes: int, delta: float) -> Iterator[Claim]:
    """The interval of a learner that learns from whole histories, after every tenth episode."""
    game, mdp = ts.load_game("kuhn"), _kuhn()[player]
    planned = 5 * episodes if kind is BettingOnHistories or seed % 2 == 0 else None
    learner = kind(build_history_tree(game, mdp.tree), planned=planned, delta=delta, seed=seed)
    live = EnumeratedGame(game, player, Coin(seed), tree=mdp.tree, seed=seed)
    for _ in range(episodes // 2):
        live.play(learner, 10)
        lower, upper = learner.lower_bound(), learner.upper_bound()
        value = mdp.scaled_value(learner.recommend()) if lower > 0 else 0.0
        yield middle(lower, upper, value, mdp.scaled_best_value)


def answers_claims(player: int, seed: int, answers: int, delta: float) -> Iterator[Claim]:
    """The interval of BettingOnAnswers after every stage, against a random policy."""
    rules, shares, mdp = _asked_kuhn(player, seed % _ASKED_POLICIES)
    learner, rng = BettingOnAnswers(rules, planned=5 * answers, delta=delta, seed=seed), np.random.default_rng(seed)
    first = rules.histories.first_answer
    while learner.episodes < 5 * answers:
        left = learner.questions()
        given = [
            first[state] + rng.choice(first[state + 1] - first[state], number, p=shares[state])
            for state, number in enumerate(left)
        ]
        learner.learn_answers(np.concatenate(given))
        lower, upper = learner.lower_bound(), learner.upper_bound()
        value = mdp.scaled_value(learner.recommend()) if lower > 0 else 0.0
        yield middle(lower, upper, value, mdp.scaled_best_value)


@functools.cache
def _asked_kuhn(player: int, seed: int):
    """The histories of Kuhn, a random policy of the other player, by state, and what it makes of the game."""
    game, rng = ts.load_game("kuhn"), np.random.default_rng(seed)
    rules = build_history_tree(game, ts.build_infostate_tree(game, player))
    asked = QueriedGame(game, player, Coin(), rules=rules)
    shares, table = [], {}
    for (_, string), _ in sorted(asked.by_key.items(), key=lambda item: item[1]):
        shares.append(rng.dirichlet([0.5, 0.5]))
        table[string] = dict(enumerate(shares[-1]))
    return rules, shares, ts.build_tree(game, player, table_policy(table, game))


def _claims_of(found, players, mdps) -> Iterator[Claim]:
    for player in players:
        seat, mdp = found.seats[player], mdps[player]
        yield middle(seat.lower, seat.upper, mdp.best_response()[0], mdp.best_response()[0])


def _kuhn() -> dict[int, ts.TreeMDP]:
    game = ts.load_game("kuhn")
    return {player: ts.build_tree(game, player, ts.uniform(game)) for player in range(2)}


def combination_claims(player: int, seed: int, episodes: int, delta: float) -> Iterator[Claim]:
    """A known policy in a game that may not be enumerated, W backed up after one scenario, and no sure bounds."""
    no_worlds = mock.patch.object(large_game, "response_by_worlds", lambda *_: None)
    nothing_sure = mock.patch.object(large_game, "tighten", lambda *_, **__: None)
    never_exact = mock.patch.object(BeliefBounds, "exact_value", property(lambda self: None))
    few = mock.patch.object(known_large, "_MOST_DRAWN", 100)
    one_scenario = mock.patch.object(known_large, "_IMPROVING", 0.0)
    with no_worlds, nothing_sure, never_exact, few, one_scenario:
        found = ts.exploit(
            "kuhn",
            "uniform",
            player=player,
            max_nodes=3,
            responder="tree",
            episodes=episodes,
            delta=delta,
            seed=seed,
            progress=False,
        )
    yield from _claims_of(found, [player], _kuhn())


def resumed_claims(player: int, seed: int, episodes: int, delta: float) -> Iterator[Claim]:
    """A run in a file that is resumed five times, and looked at each time."""
    with tempfile.TemporaryDirectory() as folder:
        for call in range(1, 7):
            found = ts.exploit(
                "kuhn",
                Coin,
                player=player,
                episodes=call * episodes,
                delta=delta,
                seed=seed,
                file=pathlib.Path(folder) / "run.npz",
                progress=False,
            )
            yield from _claims_of(found, [player], _kuhn())


def threshold_wrong(player: int, seed: int, episodes: int, delta: float) -> tuple[bool, ...]:
    """A threshold a little beside the exploitability, through ts.exploit; and the interval that is reported with it."""
    mdps = _kuhn()
    truth = sum(mdp.best_response()[0] for mdp in mdps.values()) / 2
    above = seed % 2 == 0
    found = ts.exploit(
        "kuhn",
        Coin,
        above=truth + (-0.05 if above else 0.05),
        max_nodes=(3, 1_000_000)[player],  # on the tree of visited states, on enumerated rules
        episodes=3 * episodes,
        delta=delta,
        seed=seed,
        progress=False,
    )
    wrong = wrong_once(_claims_of(found, range(2), mdps))
    return (wrong[0] or (found.tested is not None and found.tested != above), *wrong[1:])


class LeavesOut(EnumeratedGame):
    """Does not learn from failed episodes, which is wrong."""

    def _learn_from(self, learner, episodes):
        super()._learn_from(learner, [each for each in episodes if each[1] is not None])


def failures_wrong(player: int, seed: int, episodes: int, delta: float) -> tuple[bool, ...]:
    """A bot that fails where it holds the best card; broken: the failed episodes are left out."""
    best, wrong = _kuhn()[player].scaled_best_value, []
    for leaves_out in (False, True):
        tree = ts.build_infostate_tree("kuhn", player)
        live = EnumeratedGame("kuhn", player, FailsWithTheKing(seed), tree=tree, seed=seed, on_error="skip")
        learner, was_wrong = BettingOnValues(tree, delta=delta, seed=seed), False
        if leaves_out:
            live = LeavesOut("kuhn", player, FailsWithTheKing(seed), tree=tree, seed=seed, on_error="skip")
        for _ in range(20):
            live.play(learner, episodes)
            was_wrong = was_wrong or learner.lower_bound() > best or learner.upper_bound() < best
        wrong.append(was_wrong)
    return wrong[0], wrong[1], wrong[1]


@dataclasses.dataclass(frozen=True)
class Certificate:
    """How often a certificate is wrong, by problem.

    wrong: of (a problem, a seed, episodes, delta), for each factor, whether the certificate was wrong.
    kuhn: the problems are the two players of Kuhn.
    slow: played through the game itself, so that there are fewer runs.
    share: of delta that each claim has.
    promised: of delta, for all claims together.
    """

    wrong: Callable[..., tuple[bool, ...]]
    kuhn: bool = False
    slow: bool = False
    share: float = 1.0
    promised: float = 1.0


def _by(claims: Callable[..., Iterator[Claim]]) -> Callable[..., tuple[bool, ...]]:
    return lambda *arguments: wrong_once(claims(*arguments))


CERTIFICATES = {
    "values": Certificate(_by(values_claims)),
    "sequences": Certificate(_by(sequences_claims)),
    "histories": Certificate(_by(functools.partial(histories_claims, BettingOnHistories)), kuhn=True, slow=True),
    "relaxation": Certificate(_by(relaxation_claims)),
    # An answer, and a bound from one side, at random are right half of the time, so less is promised.
    "decision": Certificate(decision_wrong, share=0.4, promised=0.4),
    "revealed chance": Certificate(_by(revealed_claims), kuhn=True, share=0.4, promised=0.4),
    "known, combined": Certificate(_by(combination_claims), kuhn=True, slow=True),
    "resumed": Certificate(_by(resumed_claims), kuhn=True, slow=True),
    # In every other run it is not known how many episodes there will be.
    "stages": Certificate(_by(functools.partial(histories_claims, BettingInStages)), kuhn=True, slow=True),
    "answers": Certificate(_by(answers_claims), kuhn=True, slow=True),
    # The answer and the interval, together 3/2 of what each of them has.
    "threshold": Certificate(threshold_wrong, kuhn=True, slow=True, share=2 / 3),
    "failing bot": Certificate(failures_wrong, kuhn=True, slow=True),
}


def shares(name: str, problem, runs: int, episodes: int, delta: float) -> tuple[float, ...]:
    """The shares of runs in which the certificate was wrong, and in which the broken ones were."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ts.OpponentChangesWarning)
        certificate = CERTIFICATES[name]
        results = [certificate.wrong(problem, seed, episodes, certificate.share * delta) for seed in range(runs)]
    return tuple(np.mean(results, axis=0).tolist())


def report(options: Options) -> None:
    runs, episodes, delta = options.runs or 200, options.episodes or 100, options.delta or 0.5
    print("| certificate | problem | errors | promised | 3 times too narrow | 20 times too narrow |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, certificate in options.chosen(CERTIFICATES).items():
        listed: dict[str, Any] = {f"kuhn {'xo'[player]}": player for player in range(2)}
        if not certificate.kuhn:
            listed = {title: mdp for title, (mdp, _) in problems().items()}
        for title, problem in listed.items():
            number = max(runs // _SLOW_SHARE, 1) if certificate.slow else runs
            found = shares(name, problem, number, episodes, delta)
            wrong, *broken = (f"{share:.4f}" for share in found)
            print(
                f"| {name} | {title} | {wrong} | {certificate.promised * delta:g} | {' | '.join(broken)} |", flush=True
            )
