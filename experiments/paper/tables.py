"""Markdown tables: the paper's figures and ours, final measures, and the verdict on every ordering."""

import collections
from collections.abc import Sequence

import numpy as np

from experiments.paper import claims as claimed, settings
from experiments.paper.flags import PanelRuns
from experiments.sweep import curves
from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Learning, Limit, Measure, Result, Stopping
from experiments.sweep.tables import label, markdown, mean_and_error, player_name, standard_error, three_digits

_MEASURES: dict[Measure, str] = {"value_gap": "Value gap of the recommended policy", "regret": "Regret"}


def stopping_times(results: Sequence[Result], refused: Sequence[Configuration] = ()) -> str:
    """Episodes until the learner stops; the last column over all runs of the row. refused: configurations."""
    groups: dict = collections.defaultdict(lambda: collections.defaultdict(list))
    for asked, outcome in [
        *((each.configuration, each.outcome) for each in results),
        *((each, None) for each in refused),
    ]:
        group = groups[asked.player, asked.algorithm]
        group[_union(asked), asked.game, asked.hyper_parameters["epsilon"]].append(outcome)
    columns = sorted({cell[1:] for group in groups.values() for cell in group})
    rows = []
    for (player, algorithm), group in sorted(groups.items(), key=lambda each: each[0][0]):
        row = [player_name(player), label(algorithm)]
        papers = [_paper_figure(player, algorithm, *column) for column in columns]
        if any(each != "—" for each in papers):
            rows.append([*row, "*the paper*", *papers, ""])
        for union in dict.fromkeys(cell[0] for cell in group):
            cells = [group.get((union, *column), []) for column in columns]
            rows.append([*row, union, *(_episodes(runs) for runs in cells), _largest_gap(columns, cells)])
    titles = [f"{game}, {tolerance:g}" for game, tolerance in columns]
    return markdown(["player", "algorithm", "union", *titles, "largest gap / epsilon"], rows)


def _union(asked: Configuration) -> str:
    return asked.hyper_parameters.get("union", "none")


def _paper_figure(*cell) -> str:
    if cell not in settings.PAPER_STOPPING_TIMES:
        return "—"
    mean, error = settings.PAPER_STOPPING_TIMES[cell]
    return f"*{1e6 * mean:,.0f} ± {error:.1f}%*"


def _largest_gap(columns, cells) -> str:
    gaps = [
        each.gap / epsilon for (_, epsilon), runs in zip(columns, cells) for each in runs if isinstance(each, Stopping)
    ]
    return f"{max(gaps):.3f}" if gaps else ""


def _episodes(found: list[Stopping | Limit | None]) -> str:
    """A cell; found: the outcomes of its runs, None for what is refused."""
    if not found:
        return "—"
    if isinstance(found[0], Limit):
        return _reference(found[0])
    outcomes = [each for each in found if isinstance(each, Stopping)]
    if not outcomes:
        return "refused"
    given_up = [each for each in outcomes if not each.stopped]
    if given_up:
        return _given_up(given_up, len(outcomes))
    episodes = np.array([each.episodes for each in outcomes])
    error = standard_error(episodes)
    percent = "" if np.isnan(error) else f" ± {100 * error / episodes.mean():.1f}%"
    return f"{_whole(episodes.mean())}{percent}"


def _reference(limit: Limit) -> str:
    if limit.for_every_answer:
        return f"{_whole(limit.least)} to {_whole(limit.most)}"
    return f"at most {_whole(limit.most)}; at least {_whole(limit.least)} if the answer is the best response"


def _whole(number: float) -> str:
    """A number to three digits."""
    return f"{float(f'{number:.3g}'):,.{three_digits(number)}f}"


def _given_up(outcomes: list[Stopping], runs: int) -> str:
    """How many of the runs were given up, after how many episodes, and the remaining mean width, if known."""
    number = "" if len(outcomes) == runs else f"{len(outcomes)} of {runs} "
    widths = [each.width for each in outcomes if each.width is not None]
    remaining = f", remaining width {np.mean(widths):.3f}" if widths else ""
    return f"{number}given up after {outcomes[0].episodes:,} episodes{remaining}"


def final_measures(measure: Measure, panels: list[PanelRuns], results: list[Result[Learning]]) -> str:
    """The measure at the last episode, in the game's utility units: mean ± standard error over the runs."""
    panels = [each for each in panels if each.panel.measure == measure]
    found = [curves.of_runs(measure, each.runs, results) for each in panels]
    algorithms = list(dict.fromkeys(name for each in panels for name in each.runs))
    rows = []
    for algorithm in algorithms:
        row = [label(algorithm)]
        for panel_curves in found:
            curve = panel_curves.get(algorithm)
            longest = max((each.episode[-1] for each in panel_curves.values()), default=0)
            if curve is None:
                row.append("—")
            else:
                early = "" if curve.episode[-1] == longest else f" after {curve.episode[-1]:,}"
                row.append(mean_and_error(curve.values[:, -1]) + early)
        rows.append(row)
    header = [f"{_where(each.panel)} ({_extent(curves_of)})" for each, curves_of in zip(panels, found)]
    return markdown([_MEASURES[measure], *header], rows)


def _where(panel: settings.Panel) -> str:
    return f"{panel.game} {player_name(panel.player)}"


def _extent(found: dict[str, curves.Curve]) -> str:
    if not found:
        return "no runs"
    runs = sorted({len(curve.seeds) for curve in found.values()})
    number = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"{number} runs of {max(curve.episode[-1] for curve in found.values()):,} episodes"


def claims(stopping: list[Result[Stopping]], panels: list[PanelRuns], results: list[Result[Learning]]) -> str:
    """Each ordering that the paper claims, tested."""
    rows = _stopping_rows(stopping)
    found = {each.panel.letter: curves.of_runs(each.panel.measure, each.runs, results) for each in panels}
    where = {panel.letter: _where(panel) for panel in settings.PANELS}
    for claim in claimed.CURVE_CLAIMS:
        for letter in claim.panels:
            pair = _pair(found.get(letter, {}), claim)
            if pair:
                rows.append(_row(claim, f"{where[letter]} ({letter})", *(each.final for each in pair)))
    for claim in claimed.LEAD_CLAIMS:
        games = [_pair(found.get(letter, {}), claim) for letter in claim.panels]
        if all(games):
            finals = [(smaller.final, larger.final) for smaller, larger in games]
            verdict = claimed.compare_leads(*finals)
            ratios = [np.mean(list(larger.values())) / np.mean(list(smaller.values())) for smaller, larger in finals]
            rows.append(
                [
                    claim.claim,
                    " and ".join(where[letter] for letter in claim.panels),
                    f"{label(claim.larger)} / {label(claim.smaller)}",
                    f"{ratios[0]:.3g} to {ratios[1]:.3g}",
                    f"{verdict.p:.2g}",
                    str(verdict),
                ]
            )
    return markdown(["the paper's claim", "where", "smaller < larger", "means", "p", "verdict"], rows)


def _pair(found: dict[str, curves.Curve], claim: claimed.CurveClaim) -> list[curves.Curve]:
    """Both sides of a claim, if both have runs, and of as many episodes."""
    pair = [found[side] for side in (claim.smaller, claim.larger) if side in found]
    return pair if len(pair) == 2 and pair[0].episode[-1] == pair[1].episode[-1] else []


def _stopping_rows(results: list[Result[Stopping]]) -> list[list[str]]:
    """The claims about stopping times, where all runs of both sides stopped."""
    times: dict[tuple, dict] = collections.defaultdict(dict)
    given_up = set()
    for result in results:
        asked, outcome = result.configuration, result.outcome
        setting = asked.game, asked.player, asked.hyper_parameters["epsilon"], asked.algorithm, _union(asked)
        times[setting][asked.seed] = outcome.episodes / 1e6
        if not outcome.stopped:
            given_up.add(setting)
    rows = []
    for claim in claimed.STOPPING_CLAIMS:
        for game, player, tolerance in sorted({setting[:3] for setting in times}):
            for union in settings.UNIONS:
                pair = [
                    (game, player, tolerance, side, "none" if side == "LUCB" else union)
                    for side in (claim.smaller, claim.larger)
                ]
                if game == claim.game and times.keys() >= set(pair) and given_up.isdisjoint(pair):
                    where = f"{game} {player_name(player)}, {tolerance:g}, union {union}"
                    rows.append(_row(claim, where, *(times[each] for each in pair)))
    return rows


def _row(claim: claimed.StoppingClaim | claimed.CurveClaim, where: str, smaller: dict, larger: dict) -> list[str]:
    verdict = claimed.compare(smaller, larger)
    means = [np.mean([values[seed] for seed in sorted(smaller.keys() & larger.keys())]) for values in (smaller, larger)]
    return [
        claim.claim,
        where,
        f"{label(claim.smaller)} < {label(claim.larger)}",
        f"{means[0]:.4g}, {means[1]:.4g}",
        f"{verdict.p:.2g}",
        str(verdict),
    ]


def times(results: list[Result]) -> str:
    """Seconds of a run, summed over its pieces by the clock: mean, and all runs together."""
    seconds = collections.defaultdict(list)
    for result in results:
        asked = result.configuration
        seconds[asked.game, asked.player, asked.algorithm].append(result.timing.seconds)
    rows = [
        [
            f"{game} {player_name(player)}",
            label(algorithm),
            f"{len(each)}",
            f"{np.mean(each):.2f}",
            f"{sum(each) / 60:.1f}",
        ]
        for (game, player, algorithm), each in sorted(seconds.items())
    ]
    rows.append(["all", "", f"{len(results)}", "", f"{sum(map(sum, seconds.values())) / 60:.1f}"])
    return markdown(["game and player", "algorithm", "runs", "seconds a run", "minutes in all"], rows)
