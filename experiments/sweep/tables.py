"""Markdown tables: the paper's figures beside ours, final measures, and the verdict on every ordering."""

import collections

import numpy as np

from experiments.sweep import curves, data, orderings

_MEASURES = {"value_gap": "Value gap of the recommended policy", "regret": "Regret"}


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean_and_error(values) -> str:
    """mean ± standard error, to three digits of the mean."""
    mean, error = np.mean(values), curves.standard_error(np.asarray(values))
    decimals = max(0, 2 - int(np.floor(np.log10(mean)))) if mean > 0 else 0
    return f"{mean:,.{decimals}f}" + ("" if np.isnan(error) else f" ± {error:,.{decimals}f}")


def stopping_times(results: list[dict]) -> str:
    """Millions of episodes until the learner stops; the last column over all runs of the row."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for result in results:
        asked = result["configuration"]
        row = asked["player"], asked["algorithm"], _union(asked)
        groups[row][asked["game"], asked["hyper_parameters"]["epsilon"]].append(result["outcome"])
    columns = sorted({column for group in groups.values() for column in group})
    rows = []
    for player in range(2):
        for algorithm in data.STOPPING_ALGORITHMS:
            figures = [_paper_figure(player, algorithm, *column) for column in columns]
            ours = [(union, groups[player, algorithm, union]) for union in ("none", *data.UNIONS)]
            if any(group for _, group in ours):
                rows.append([data.PLAYERS[player], data.label(algorithm), "*the paper*", *figures, ""])
            for union, group in ours:
                if group:
                    worst = max(each["gap"] / column[1] for column, runs in group.items() for each in runs)
                    cells = [_millions(group[column]) for column in columns]
                    rows.append([data.PLAYERS[player], data.label(algorithm), union, *cells, f"{worst:.3f}"])
    titles = [f"{game}, {tolerance:g}" for game, tolerance in columns]
    return markdown(["player", "algorithm", "union", *titles, "largest gap / epsilon"], rows)


def _union(asked: dict) -> str:
    return asked["hyper_parameters"].get("union", "none")


def _paper_figure(*cell) -> str:
    if cell not in data.PAPER_STOPPING_TIMES:
        return "—"
    mean, error = data.PAPER_STOPPING_TIMES[cell]
    return f"*{mean:.3f} ± {error:.1f}%*"


def _millions(outcomes: list[dict]) -> str:
    if not outcomes:
        return "—"
    episodes = np.array([each["episodes"] for each in outcomes]) / 1e6
    error = curves.standard_error(episodes)
    return f"{episodes.mean():.3f}" + ("" if np.isnan(error) else f" ± {100 * error / episodes.mean():.1f}%")


def final_measures(measure: str, panels: list[dict], results: list[dict]) -> str:
    """The measure at the last episode, in the game's utility units: mean ± standard error over the runs."""
    panels = [panel for panel in panels if panel["measure"] == measure]
    found = [curves.of_panel(panel, results) for panel in panels]
    algorithms = list(dict.fromkeys(name for panel in panels for name in panel["curves"]))
    rows = []
    for algorithm in algorithms:
        row = [data.label(algorithm)]
        for panel_curves in found:
            curve = panel_curves.get(algorithm)
            longest = max((each.episode[-1] for each in panel_curves.values()), default=0)
            if curve is None:
                row.append("—")
            else:
                early = "" if curve.episode[-1] == longest else f" after {curve.episode[-1]:,}"
                row.append(mean_and_error(curve.values[:, -1]) + early)
        rows.append(row)
    header = [
        f"{panel['game']} {data.PLAYERS[panel['player']]} ({_extent(each)})" for panel, each in zip(panels, found)
    ]
    return markdown([_MEASURES[measure], *header], rows)


def _extent(found: dict[str, curves.Curve]) -> str:
    if not found:
        return "no runs"
    runs = sorted({len(curve.seeds) for curve in found.values()})
    number = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"{number} runs of {max(curve.episode[-1] for curve in found.values()):,} episodes"


def claims(stopping: list[dict], panels: list[dict], results: list[dict]) -> str:
    """Each ordering that the paper claims, tested."""
    rows = _stopping_rows(stopping)
    found = {panel["panel"]: curves.of_panel(panel, results) for panel in panels}
    where = {panel["panel"]: f"{panel['game']} {data.PLAYERS[panel['player']]}" for panel in data.PANELS}
    for claim in orderings.CURVE_CLAIMS:
        for letter in claim["panels"]:
            pair = _pair(found.get(letter, {}), claim)
            if pair:
                rows.append(_row(claim, f"{where[letter]} ({letter})", *(each.final for each in pair)))
    for claim in orderings.LEAD_CLAIMS:
        games = [_pair(found.get(letter, {}), claim) for letter in claim["panels"]]
        if all(games):
            finals = [tuple(each.final for each in game) for game in games]
            verdict = orderings.compare_leads(*finals)
            ratios = [np.mean(list(larger.values())) / np.mean(list(smaller.values())) for smaller, larger in finals]
            rows.append(
                [
                    claim["claim"],
                    " and ".join(where[letter] for letter in claim["panels"]),
                    f"{data.label(claim['larger'])} / {data.label(claim['smaller'])}",
                    f"{ratios[0]:.3g} to {ratios[1]:.3g}",
                    f"{verdict.p:.2g}",
                    str(verdict),
                ]
            )
    return markdown(["the paper's claim", "where", "smaller < larger", "means", "p", "verdict"], rows)


def _pair(found: dict[str, curves.Curve], claim: dict) -> list[curves.Curve]:
    """Both sides of a claim, if both have runs, and of as many episodes."""
    pair = [found[claim[side]] for side in ("smaller", "larger") if claim[side] in found]
    return pair if len(pair) == 2 and pair[0].episode[-1] == pair[1].episode[-1] else []


def _stopping_rows(results: list[dict]) -> list[list[str]]:
    times = collections.defaultdict(dict)
    for result in results:
        asked = result["configuration"]
        setting = (
            asked["game"],
            asked["player"],
            asked["hyper_parameters"]["epsilon"],
            asked["algorithm"],
            _union(asked),
        )
        times[setting][asked["seed"]] = result["outcome"]["episodes"] / 1e6
    settings = sorted({setting[:3] for setting in times})
    rows = []
    for claim in orderings.STOPPING_CLAIMS:
        for game, player, tolerance in settings:
            for union in data.UNIONS:
                pair = [
                    times.get((game, player, tolerance, claim[side], "none" if claim[side] == "LUCB" else union))
                    for side in ("smaller", "larger")
                ]
                if game == claim["game"] and all(pair):
                    rows.append(_row(claim, f"{game} {data.PLAYERS[player]}, {tolerance:g}, union {union}", *pair))
    return rows


def _row(claim: dict, where: str, smaller: dict, larger: dict) -> list[str]:
    verdict = orderings.compare(smaller, larger)
    means = [np.mean([values[seed] for seed in sorted(smaller.keys() & larger.keys())]) for values in (smaller, larger)]
    return [
        claim["claim"],
        where,
        f"{data.label(claim['smaller'])} < {data.label(claim['larger'])}",
        f"{means[0]:.4g}, {means[1]:.4g}",
        f"{verdict.p:.2g}",
        str(verdict),
    ]


def times(results: list[dict]) -> str:
    """Seconds of a run, summed over its pieces by the clock: mean, and all runs together."""
    seconds = collections.defaultdict(list)
    for result in results:
        asked = result["configuration"]
        seconds[asked["game"], asked["player"], asked["algorithm"]].append(result["timing"]["seconds"])
    rows = [
        [
            f"{game} {data.PLAYERS[player]}",
            data.label(algorithm),
            f"{len(each)}",
            f"{np.mean(each):.2f}",
            f"{sum(each) / 60:.1f}",
        ]
        for (game, player, algorithm), each in sorted(seconds.items())
    ]
    rows.append(["all", "", f"{len(results)}", "", f"{sum(map(sum, seconds.values())) / 60:.1f}"])
    return markdown(["game and player", "algorithm", "runs", "seconds a run", "minutes in all"], rows)
