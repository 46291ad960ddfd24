r"""How often opponents that change between episodes are detected: a table for docs/lab/reliability.md.

python -m experiments.research.drift_power
python -m experiments.research.drift_power --runs=2 --episodes=500 --opponents=alternates
"""

from __future__ import annotations

import dataclasses
import warnings
import zlib

import numpy as np
import pyspiel
from absl import app, flags

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary
from tmdp_spiel.exploit.response import OpponentNotFixedError
from tmdp_spiel.exploit.stationarity import OpponentChangesWarning


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


def power_table(opponents: list[str], budgets: list[int], runs: int, seed: int, game: str) -> list[str]:
    """One row for each opponent and budget."""
    kinds: dict[str, type[MixedBot]] = {**FIXED, **CHANGING}
    lines = ["| opponent | episodes | runs | noticed | bounds contradict each other | smallest visible change |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for title in opponents:
        for episodes in budgets:
            found = measure(kinds[title], game, episodes, range(seed, seed + runs))
            visible = "–" if np.isnan(found.visible) else f"{found.visible:.2f}"
            lines.append(
                f"| {title} | {episodes:,} | {found.runs} | {found.noticed} | {found.contradicted} | {visible} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    unknown = [each for each in flags.FLAGS.opponents if each not in (*FIXED, *CHANGING)]
    if unknown:
        raise app.UsageError(f"--opponents: any of {', '.join((*FIXED, *CHANGING))}, not {unknown}")
    power_table(
        flags.FLAGS.opponents,
        [int(each) for each in flags.FLAGS.episodes],
        flags.FLAGS.runs,
        flags.FLAGS.seed,
        flags.FLAGS.game,
    )


def define_flags() -> None:
    """Defines the flags of the command; not at import, because tests import several commands."""
    flags.DEFINE_list("opponents", [*FIXED, *CHANGING], f"Any of {', '.join((*FIXED, *CHANGING))}.")
    flags.DEFINE_list("episodes", ["2000", "10000"], "Budgets.")
    flags.DEFINE_integer("runs", 20, "Runs of each opponent and budget.", lower_bound=1)
    flags.DEFINE_integer("seed", 1000, "Seed of the first run.", lower_bound=0)
    flags.DEFINE_string("game", "kuhn_poker", "The game; player 0 responds.")


if __name__ == "__main__":
    define_flags()
    run_binary(main)
