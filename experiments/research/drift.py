"""How often opponents that change between episodes are detected."""

from __future__ import annotations

import dataclasses
import warnings
import zlib

import numpy as np
import pyspiel

import tmdp_spiel as ts
from experiments.research.options import Options
from tmdp_spiel.exploit.response import OpponentNotFixedError
from tmdp_spiel.exploit.stationarity import OpponentChangesWarning

_FIRST_SEED = 1000


class MixedBot(pyspiel.Bot):
    """Plays a random mixed policy, the same in every episode; the base class of the others.

    episode: how many have begun.  episodes: the approximate total number.
    """

    def __init__(self, seed: int, episodes: int):
        super().__init__()
        self.rng, self.seed, self.episodes = np.random.default_rng([seed, 1]), seed, episodes
        self.episode = 0
        self._policies: dict[tuple[int, str], np.ndarray] = {}

    def restart_at(self, state):
        self.episode += 1

    def inform_action(self, state, player_id, action):
        pass

    def probabilities(self, which: int, state) -> np.ndarray:
        """One of many random policies."""
        player = state.current_player()
        string = state.information_state_string(player)
        if (which, string) not in self._policies:
            rng = np.random.default_rng([self.seed, which, zlib.crc32(string.encode())])
            self._policies[which, string] = rng.dirichlet(np.ones(len(state.legal_actions())))
        return self._policies[which, string]

    def weight(self) -> float:
        """Of the second policy."""
        return 0.0

    def step(self, state):
        weight = self.weight()
        mixed = (1 - weight) * self.probabilities(0, state) + weight * self.probabilities(1, state)
        return state.legal_actions()[int(np.searchsorted(np.cumsum(mixed)[:-1], self.rng.random(), side="right"))]


class RemembersTheEpisode(MixedBot):
    """Plays differently after a raise in the same episode, which is a single policy."""

    def step(self, state):
        aggressive = sum(state.history()) % 2 == 1
        return state.legal_actions()[-1] if aggressive and self.rng.random() < 0.5 else super().step(state)


class Alternates(MixedBot):
    """One policy in odd episodes, another in even ones."""

    def weight(self):
        return float(self.episode % 2)


class ChangesInBlocks(MixedBot):
    """One policy for 100 episodes, another for the next 100."""

    def weight(self):
        return float(self.episode // 100 % 2)


class CopiesTheLastMove(MixedBot):
    """Half of the time, plays the other player's last move in the previous episode."""

    last = now = 0

    def restart_at(self, state):
        super().restart_at(state)
        self.last = self.now

    def inform_action(self, state, player_id, action):
        if player_id >= 0:
            self.now = action

    def step(self, state):
        if self.last in state.legal_actions() and self.rng.random() < 0.5:
            return self.last
        return super().step(state)


class LearnsSlowly(MixedBot):
    """Moves steadily from one policy to another over the whole run."""

    def weight(self):
        return min(self.episode / self.episodes, 1.0)


class FollowsFrequency(MixedBot):
    """The more often the other player made the highest move in about 50 moves, the more it plays the second policy."""

    often = 0.5

    def inform_action(self, state, player_id, action):
        if player_id >= 0:
            self.often += (float(action == state.legal_actions()[-1]) - self.often) / 50

    def weight(self):
        return self.often


class ChangesEarly(MixedBot):
    """Another policy after a fifth of the episodes."""

    def weight(self):
        return float(self.episode > 0.2 * self.episodes)


class ChangesLate(MixedBot):
    """Another policy after four fifths of the episodes."""

    def weight(self):
        return float(self.episode > 0.8 * self.episodes)


FIXED = {"fixed": MixedBot, "fixed, remembers within an episode": RemembersTheEpisode}
CHANGING: dict[str, type[MixedBot]] = {
    "alternates": Alternates,
    "changes every 100 episodes": ChangesInBlocks,
    "copies the last move": CopiesTheLastMove,
    "learns slowly": LearnsSlowly,
    "follows the other's frequency": FollowsFrequency,
    "changes after 20%": ChangesEarly,
    "changes after 80%": ChangesLate,
}


@dataclasses.dataclass
class Power:
    """How often a change was detected, or the bounds contradicted each other, and in how many runs."""

    noticed: int
    contradicted: int
    runs: int
    visible: float  # the mean of Response.smallest_visible_change


def measure(kind: type[MixedBot], game: str, episodes: int, seeds: range) -> Power:
    """Runs `exploit` for player 0 against opponents of this kind."""
    noticed = contradicted = 0
    visible = []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OpponentChangesWarning)
            try:
                found = ts.exploit(
                    game, kind(seed, episodes), player=0, episodes=episodes, seed=seed, progress=False
                ).seats[0]
            except OpponentNotFixedError:
                contradicted += 1
                continue
        noticed += found.drift_detected
        visible.append(np.nan if found.smallest_visible_change is None else found.smallest_visible_change)
    return Power(
        noticed, contradicted, len(seeds), float(np.nanmean(visible)) if np.isfinite(visible).any() else np.nan
    )


def report(options: Options) -> None:
    """One row for each opponent and budget; player 0 of Kuhn poker responds."""
    runs, budgets = options.runs or 20, (2_000, 10_000) if options.episodes is None else (options.episodes,)
    kinds: dict[str, type[MixedBot]] = {**FIXED, **CHANGING}
    print("| opponent | episodes | runs | noticed | bounds contradict each other | smallest visible change |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for title, kind in options.chosen(kinds).items():
        for episodes in budgets:
            found = measure(kind, "kuhn_poker", episodes, range(_FIRST_SEED, _FIRST_SEED + runs))
            visible = "–" if np.isnan(found.visible) else f"{found.visible:.2f}"
            row = title, f"{episodes:,}", str(found.runs), str(found.noticed), str(found.contradicted), visible
            print(f"| {' | '.join(row)} |", flush=True)
