"""Fills the tables of docs/results.md from the stored runs in docs/runs: python docs/make_results.py.

A table stands between the lines `<!-- table: name -->` and `<!-- end -->`. With --check nothing is written, and the
exit code is 1 if the page is out of date.
"""

import collections
import functools
import hashlib
import itertools
import json
import lzma
import pathlib
import re
import sys
import types

import numpy as np
import scipy.stats

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from experiments.paper import claims, settings  # noqa: E402
from experiments.sweep.tables import label, player_name  # noqa: E402

PAGE = HERE / "results.md"
PANELS = [("leduc", 0), ("leduc", 1), ("rbt", 0), ("rbt", 1)]
DEFAULT = "ThompsonTree"
SHORT = {
    "battleship": "battleship 2x2",
    "goofspiel": "goofspiel 6 cards",
    "turn_based_simultaneous_game": "goofspiel 4 cards",
    "sheriff": "sheriff",
}
NUMBERED_TURNS = "dark_hex(board_size=2,obstype=reveal-numturns)"  # what dark_hex(board_size=2) was in earlier runs
# The panels of the paper's figure by letter: measure, game, player.
LETTERS = dict(zip("abcdefgh", itertools.product(("value_gap", "regret"), ("leduc", "rbt"), (0, 1))))
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@functools.cache
def stored_runs(name: str) -> list[dict]:
    """The runs of an archive; ValueError if its checksum does not fit."""
    path = HERE / "runs" / f"{name}.jsonl.xz"
    checksum, _, body = lzma.decompress(path.read_bytes()).decode().partition("\n")
    if hashlib.sha256(body.encode()).hexdigest() != checksum:
        raise ValueError(f"{path} was altered: its checksum does not fit")
    return [json.loads(line) for line in body.splitlines()]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def standard_error(values) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def three_digits(number: float) -> str:
    """A number to three significant digits."""
    return f"{float(f'{number:.3g}'):,.{max(0, 2 - int(np.floor(np.log10(number))))}f}" if number > 0 else "0"


def plus_minus(values, decimals: int) -> str:
    return f"{np.mean(values):.{decimals}f} ± {standard_error(values):.{decimals}f}"


def learning_curves() -> dict[tuple, dict[str, dict[int, dict]]]:
    """The outcome of every learning run, by (game, player), algorithm and seed."""
    found: dict = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in stored_runs("learning"):
        asked = run["configuration"]
        found[asked["game"], asked["player"]][asked["algorithm"]][asked["seed"]] = run["outcome"]
    return found


def measured(runs: dict[int, dict], measure: str, episodes: int) -> dict[int, float]:
    """The measure of every seed after that many episodes; regret is divided by them."""
    share = episodes if measure == "regret" else 1
    return {seed: run[measure][run["episode"].index(episodes)] / share for seed, run in runs.items()}


def final_table(measure: str) -> str:
    """Mean ± standard error after a million episodes; the smallest mean of a column, or within its error, is bold."""
    curves = learning_curves()
    algorithms = sorted(curves["leduc", 0], key=lambda name: (name != DEFAULT, label(name)))
    columns = []
    for panel in PANELS:
        finals = {name: list(measured(curves[panel][name], measure, 1_000_000).values()) for name in algorithms}
        best = min(algorithms, key=lambda name: np.mean(finals[name]))
        limit = np.mean(finals[best]) + standard_error(finals[best])
        texts = {name: plus_minus(each, 4) for name, each in finals.items()}
        columns.append(
            {name: f"**{text}**" if np.mean(finals[name]) <= limit else text for name, text in texts.items()}
        )
    header = [f"{game} {player_name(player)}" for game, player in PANELS]
    return markdown(["learner", *header], [[label(name), *(each[name] for each in columns)] for name in algorithms])


def default_beside_the_best() -> str:
    """The default learner's runs beside those of the best other learner by mean regret, and by mean value gap."""
    curves, rows = learning_curves(), []
    for (game, player), measure in itertools.product(PANELS, ("regret", "value_gap")):
        finals = {
            name: np.array(list(measured(runs, measure, 1_000_000).values()))
            for name, runs in curves[game, player].items()
        }
        mine = finals.pop(DEFAULT)
        best = min(finals, key=lambda name: np.mean(finals[name]))
        apart = int(np.sum(mine > 10 * np.median(mine)))
        p = scipy.stats.mannwhitneyu(mine, finals[best]).pvalue
        rows.append(
            [
                f"{game} {player_name(player)}, {measure.replace('value_gap', 'gap')}",
                plus_minus(mine, 4),
                f"{np.median(mine):.4f}",
                f"{apart} of {len(mine)}",
                label(best),
                plus_minus(finals[best], 4),
                f"{np.median(finals[best]):.4f}",
                f"{p:.1g}",
            ]
        )
    return markdown(["panel", "default", "median", "over ten medians", "best other", "its mean", "median", "p"], rows)


def rbt_over_time() -> str:
    """Means after ten thousand, a hundred thousand and a million episodes."""
    curves, times = learning_curves(), {10_000: "10⁴", 100_000: "10⁵", 1_000_000: "10⁶"}
    columns = [(player, measure, at) for player in (0, 1) for measure in ("regret", "value_gap") for at in times]
    algorithms = sorted(curves["rbt", 0], key=lambda name: (name != DEFAULT, label(name)))
    rows = [
        [
            label(name),
            *(
                f"{np.mean(list(measured(curves['rbt', player][name], measure, at).values())):.4f}"
                for player, measure, at in columns
            ),
        ]
        for name in algorithms
    ]
    words = {"regret": "regret", "value_gap": "gap"}
    return markdown(["learner", *(f"{player_name(p)}: {words[m]}, {times[at]}" for p, m, at in columns)], rows)


def stopping_groups() -> dict[tuple, list[dict]]:
    """Outcomes by (player, algorithm, union, game, epsilon)."""
    found: dict = collections.defaultdict(list)
    for run in stored_runs("stopping"):
        asked = run["configuration"]
        union = asked["hyper_parameters"].get("union", "")
        key = asked["player"], asked["algorithm"], union, asked["game"], asked["hyper_parameters"]["epsilon"]
        found[key].append({**run["outcome"], "seed": asked["seed"]})
    return found


def stopping_cell(outcomes: list[dict]) -> str:
    if not outcomes:
        return "—"
    if "least" in outcomes[0]:
        least, most = three_digits(outcomes[0]["least"]), three_digits(outcomes[0]["most"])
        return f"{least} to {most}" if outcomes[0]["for_every_answer"] else f"{least}† to {most}"
    if not all(each["stopped"] for each in outcomes):
        return f"not within {outcomes[0]['episodes']:,}"
    episodes = [each["episodes"] for each in outcomes]
    return f"{three_digits(np.mean(episodes))} ± {100 * standard_error(episodes) / np.mean(episodes):.1f}%"


def stopping_table() -> str:
    """Mean episodes until a learner stops, the paper's figures above ours."""
    groups = stopping_groups()
    columns = sorted({key[3:] for key in groups})
    order = [*settings.STOPPING_ALGORITHMS, "ReferenceLimit"]
    rows: list[list[str]] = []

    def place(row: tuple) -> tuple:
        return row[0], order.index(row[1]), row[2]

    for player, algorithm, union in sorted({key[:3] for key in groups}, key=place):
        paper = [settings.PAPER_STOPPING_TIMES.get((player, algorithm, *column)) for column in columns]
        start = [player_name(player), label(algorithm)]
        if any(paper) and [*start, "*in the paper*"] not in [row[:3] for row in rows]:
            cells = [f"*{1e6 * each[0]:,.0f} ± {each[1]:.1f}%*" if each else "—" for each in paper]
            rows.append([*start, "*in the paper*", *cells, ""])
        cells = [groups.get((player, algorithm, union, *column), []) for column in columns]
        gaps = [each["gap"] / at[1] for at, runs in zip(columns, cells) for each in runs if each.get("stopped")]
        rows.append([*start, union, *map(stopping_cell, cells), f"{max(gaps):.3f}" if gaps else ""])
    return markdown(
        ["player", "learner", "union", *(f"{game}, {epsilon:g}" for game, epsilon in columns), "largest gap / ε"], rows
    )


def as_tuple(claim):
    """A claim with named fields, whether it is kept as a mapping or already has them."""
    return types.SimpleNamespace(**claim) if isinstance(claim, dict) else claim


def claims_table() -> str:
    """Every ordering that the paper claims: where the stored runs confirm it, contradict it, or decide nothing."""
    verdicts: dict = collections.defaultdict(lambda: collections.defaultdict(list))

    def judge(claim, where: str, verdict: claims.Verdict) -> None:
        pair = f"{label(claim.smaller)} before {label(claim.larger)}"
        outcome = re.sub(r" at \d+ runs", "", str(verdict))
        verdicts[claim.claim, pair][outcome].append(f"{where} ({verdict.p:.1g})")

    groups = stopping_groups()
    for claim in map(as_tuple, claims.STOPPING_CLAIMS):
        for player, tolerance, union in itertools.product((0, 1), settings.TOLERANCES, settings.UNIONS):
            sides = []
            for name in (claim.smaller, claim.larger):
                runs = groups[player, name, "" if name == "LUCB" else union, claim.game, tolerance]
                sides.append({each["seed"]: each["episodes"] for each in runs})
            judge(claim, f"{player_name(player)} {tolerance:g} {union}", claims.compare(*sides))
    curves = learning_curves()

    def finals(letter: str, claim) -> tuple[dict, dict]:
        measure, game, player = LETTERS[letter]
        runs = curves[game, player]
        return measured(runs[claim.smaller], measure, 1_000_000), measured(runs[claim.larger], measure, 1_000_000)

    for claim in map(as_tuple, claims.CURVE_CLAIMS):
        for letter in claim.panels:
            _, game, player = LETTERS[letter]
            judge(claim, f"{game} {player_name(player)}", claims.compare(*finals(letter, claim)))
    for claim in map(as_tuple, claims.LEAD_CLAIMS):
        small, large = (finals(letter, claim) for letter in claim.panels)
        judge(claim, player_name(LETTERS[claim.panels[0]][2]), claims.compare_leads(small, large))
    outcomes = ("holds", "does not hold", "not decided")
    rows = [[*key, *(", ".join(found[each]) or "—" for each in outcomes)] for key, found in verdicts.items()]
    return markdown(["the paper says", "pair", *outcomes], rows)


def problem(asked: dict) -> str:
    """A short name of a game, a player and an opponent."""
    name = "dark_hex(board_size=2)" if asked["game"] == NUMBERED_TURNS else asked["game"]
    game = SHORT.get(name.partition("(")[0], name)
    opponent = "uniform" if asked["opponent"] == "uniform" else f"CFR+ {asked['iterations']}"
    return f"{game}, player {asked['player']}, {opponent}"


def games_table(episodes: int) -> str:
    """Mean value gaps on other games; the rank of the default learner among all."""
    found: dict = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in stored_runs("compare"):
        at = int(np.searchsorted(run["outcome"]["episode"], episodes, side="right")) - 1
        found[problem(run["configuration"])][run["configuration"]["algorithm"]].append(run["outcome"]["value_gap"][at])
    algorithms = sorted({name for of in found.values() for name in of}, key=lambda name: (name != DEFAULT, label(name)))
    rows, ranks = [], []
    for name, of in found.items():
        gaps = {each: round(float(np.mean(of[each])), 6) for each in algorithms}  # the archive keeps six digits
        ranks.append(1 + sum(gap < gaps[DEFAULT] for gap in gaps.values()))
        least = min(gaps.values())
        cells = [f"**{gaps[each]:.4f}**" if gaps[each] == least else f"{gaps[each]:.4f}" for each in algorithms]
        rows.append([name, *cells, str(ranks[-1])])
    rows.append(["mean rank", *[""] * len(algorithms), f"{np.mean(ranks):.1f}"])
    return markdown([f"after {episodes:,} episodes", *map(label, algorithms), "rank of the default"], rows)


def responders_table(mark: str, title: str) -> str:
    """What responses of OpenSpiel's agents and of our learners win; the largest mean of a row is bold."""
    found: dict = collections.defaultdict(lambda: collections.defaultdict(list))
    best = {}
    for run in stored_runs("responders"):
        name = problem(run["configuration"]).replace(", player 0", "")
        best[name] = run["environment"]["best_value"]
        if mark in run["outcome"]["values"]:
            found[name][run["configuration"]["algorithm"]].append(run["outcome"]["values"][mark][0])
    algorithms = sorted({name for of in found.values() for name in of}, key=lambda name: (name != DEFAULT, label(name)))
    rows = []
    for name, of in sorted(found.items(), key=lambda each: (best[each[0]] is None, each[0])):
        most = max(np.mean(values) for values in of.values())
        texts = {each: plus_minus(of[each], 3) if each in of else "—" for each in algorithms}
        cells = [
            f"**{texts[each]}**" if each in of and np.mean(of[each]) == most else texts[each] for each in algorithms
        ]
        rows.append([name, "" if best[name] is None else f"{best[name]:.3f}", *cells])
    return markdown([title, "best", *map(label, algorithms)], rows)


TABLES = {
    "value_gap": lambda: final_table("value_gap"),
    "regret": lambda: final_table("regret"),
    "default": default_beside_the_best,
    "rbt": rbt_over_time,
    "stopping": stopping_table,
    "claims": claims_table,
    "games_early": lambda: games_table(10_000),
    "games_late": lambda: games_table(100_000),
    "responders_episodes": lambda: responders_table("10000", "after 10,000 episodes"),
    "responders_more_episodes": lambda: responders_table("45000", "after 45,000 episodes"),
    "responders_seconds": lambda: responders_table("seconds", "after 10 s of processor time"),
}


def filled(text: str) -> str:
    """The page with every table recomputed."""
    return TABLE.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8")
    after = filled(before)
    if "--check" in sys.argv[1:]:
        sys.exit(f"{PAGE} is out of date: run python docs/make_results.py" if after != before else 0)
    PAGE.write_text(after, encoding="utf-8")
