r"""The ablation of ThompsonTree: each number halved and doubled, each part switched off, as a generated page.

  python -m experiments.benchmarks.ablation --runs=50 --variants=default --results=ablation.jsonl
  python -m experiments.benchmarks.ablation --runs=8 --problems=leduc --results=ablation.jsonl
  python -m experiments.benchmarks.ablation --runs=0 --results=ablation.jsonl --archive=docs/runs/ablation.jsonl.xz
  python -m experiments.benchmarks.ablation --runs=0 --results=docs/runs/ablation.jsonl.xz --page=docs/lab/ablation.md

Each number is halved and doubled, each part switched off. A part is switched off by a change of one line of the
learner's source, which is compiled as a module of its own; a line that is no longer there is an error. Every run is
added to the file of results as it ends; the table is made from all runs in the file, and runs that are there are not
repeated. An archive has all runs in one file. Of a page, what follows the line
`<!-- tables -->` is replaced. Seeds from 5000 to 69999 and from 200000 on were used for tuning and earlier reports;
these are from 70000 on.
"""

import argparse
import collections
import hashlib
import importlib.util
import json
import lzma
import pathlib
import sys
import tempfile
import time

import numpy as np

import tmdp_spiel as ts
from experiments.sweep import store as archive
from experiments.sweep.configuration import PROBLEMS as FURTHER, Problem
from experiments.sweep.run import fixed_opponent
from experiments.sweep.tables import markdown
from tmdp_spiel.algorithms import thompson_tree
from tmdp_spiel.core import storage

# settings: of the constructor;  change: a line of the source and what takes its place, or None
Variant = collections.namedtuple("Variant", ["settings", "change"])

_RESTART = "if episodes & (episodes - 1) == 0:"
_LEVEL_DRAW = "draw = bandit.returns[level] / number + deviation * noise / math.sqrt(number)"
_PASSED_ON = "mean + max(noise, 0.0))"
_RECOMMENDED = "min(max(mean, low), high) - width"
VARIANTS = {
    "default": Variant({}, None),
    "noise 0.25": Variant({"noise": 0.25}, None),
    "noise 1": Variant({"noise": 1.0}, None),
    "decay 1/3": Variant({"decay": 1 / 3}, None),
    "decay 1/2": Variant({"decay": 0.5}, None),
    "decay 4/3": Variant({"decay": 4 / 3}, None),
    "no noise passed on": Variant({}, (_PASSED_ON, "mean)")),
    "no noise passed on, noise 1, decay 3/4": Variant({"noise": 1.0, "decay": 0.75}, (_PASSED_ON, "mean)")),
    "negative noise passed on": Variant({}, (_PASSED_ON, "mean + noise)")),
    "one level": Variant({"num_levels": 1}, None),
    "6 levels": Variant({"num_levels": 6}, None),
    "levels restart at powers of 4": Variant(
        {}, (_RESTART, _RESTART[:-1] + " and episodes & 0x5555555555555555 != 0:")
    ),
    "levels never restart": Variant({}, (_RESTART, "if episodes < 0:")),
    "levels at random": Variant({}, (_LEVEL_DRAW, "draw = noise")),
    "width by visits only": Variant({}, ("max(tables.repeats[j], 1) * float", "max(number, 1) * float")),
    "width by repeats only": Variant({}, ("float(max(number, 1))", "float(max(tables.repeats[j], 1))")),
    "noise of the untried": Variant({}, (" if number > 0 else 0.0\n", "\n")),
    "noise b": Variant({}, ("drawn = mean + noise", "drawn = mean + levels[row] * noise")),
    "sigma of all episodes": Variant({}, ("elif not repeated:", "else:")),
    "imagined pair of weight 1/2": Variant({}, ("[0.0, 0.0, 1.0, 0.5, 0.5]", "[0.0, 0.0, 0.5, 0.25, 0.25]")),
    "imagined pair of weight 2": Variant({}, ("[0.0, 0.0, 1.0, 0.5, 0.5]", "[0.0, 0.0, 2.0, 1.0, 1.0]")),
    "no deviations of their own": Variant({}, ("max(deviation, own_deviation(tables, j))", "deviation")),
    "no ranges by the rules": Variant(
        {}, ("least, most = known_ranges_below(tree)", "least, most = np.empty(0), np.empty(0)")
    ),
    "recommends means": Variant({}, (_RECOMMENDED, "min(max(mean, low), high)")),
    "recommends 2 widths less": Variant({}, (_RECOMMENDED, "min(max(mean, low), high) - 2.0 * width")),
}
PANELS = {
    "leduc x, equilibrium": Problem("leduc", 0, "cfr+", 1000),
    "leduc o, equilibrium": Problem("leduc", 1, "cfr+", 1000),
    "leduc x, uniform": Problem("leduc", 0, "uniform", 1000),
    "rbt o, equilibrium": Problem("rbt", 1, "cfr+", None),
    "rbt x, equilibrium": Problem("rbt", 0, "cfr+", None),
}
_PANEL_MARKS = (10_000, 45_000, 100_000, 1_000_000)
_MARKS = (10_000, 100_000)
_MARK = "<!-- tables -->"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What every number and every part of ThompsonTree is worth.")
    parser.add_argument("--problems", type=_names, help="problems whose names begin like any of these; else all")
    parser.add_argument("--variants", type=_names, help="variants whose names begin like any of these; else all")
    parser.add_argument("--runs", type=int, default=5, help="runs of each variant on each problem")
    parser.add_argument("--first_seed", type=int, default=70_000, help="seeds from here on")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results/ablation.jsonl"))
    parser.add_argument("--archive", type=pathlib.Path, help="where all runs are stored, compressed (.xz)")
    parser.add_argument("--page", type=pathlib.Path, help="the page that the tables are written to; else printed")
    return parser.parse_args(arguments)


def _names(given: str) -> tuple[str, ...]:
    return tuple(given.split(","))


def make_class(variant: Variant, folder: pathlib.Path) -> type:
    """The learner's class with the change."""
    if variant.change is None:
        return ts.ThompsonTree
    before, after = variant.change
    source = pathlib.Path(thompson_tree.__file__).read_text(encoding="utf-8")
    if source.count(before) != 1:
        raise ValueError(f"the source of ThompsonTree has {source.count(before)} lines with {before!r}, not one")
    changed = source.replace(before, after)
    name = "thompson_" + hashlib.sha256(changed.encode()).hexdigest()[:12]
    path = folder / f"{name}.py"
    path.write_text(changed, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.ThompsonTree


def play(kind: type, settings: dict, mdp: ts.TreeMDP, marks, seed: int) -> dict:
    """One run: values and regret at the marks, processor time, and the learner's own estimates at the end."""
    learner, started = kind(mdp.tree, seed=seed, **settings), time.process_time()
    trace = ts.run(learner, mdp, marks[-1], measure_at=list(marks), progress=False)
    seconds = time.process_time() - started
    found = {"regret": list(map(float, trace.regret)), "gap": list(map(float, trace.value_gap)), "seconds": seconds}
    if mdp.tree.num_states < 100_000 and hasattr(learner, "estimate"):
        believed = learner.estimate()
        value = (mdp.value(learner.recommend()) - mdp.tree.min_utility) / mdp.tree.utility_range
        found["covered"] = bool(believed.lower <= value <= believed.upper)
        found["gap covered"] = bool(trace.value_gap[-1] / mdp.tree.utility_range <= believed.largest_gap)
    return found


def carry_out(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """Runs and adds what is missing."""
    results: pathlib.Path = options.results
    done = {(each["problem"], each["variant"], each["seed"]) for each in read(results)}
    seeds = range(options.first_seed, options.first_seed + options.runs)
    classes: dict[str, type] = {}
    results.parent.mkdir(parents=True, exist_ok=True)
    for name, problem in chosen({**PANELS, **FURTHER}, options.problems).items():
        missing = [
            (variant, seed) for variant in chosen(VARIANTS, options.variants) for seed in seeds
            if (name, variant, seed) not in done
        ]  # fmt: skip
        if not missing:
            continue
        game = ts.load_game(problem.game)
        mdp = ts.build_tree(game, problem.player, fixed_opponent(game, problem))
        marks = _MARKS if name in FURTHER else _PANEL_MARKS[: 3 if "uniform" in name else 4]
        for variant, seed in missing:
            if variant not in classes:
                classes[variant] = make_class(VARIANTS[variant], folder)
                play(classes[variant], VARIANTS[variant].settings, mdp, (10,), 0)  # compiles
            found = play(classes[variant], VARIANTS[variant].settings, mdp, marks, seed)
            with results.open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps({"problem": name, "variant": variant, "seed": seed, "marks": marks, **found}) + "\n"
                )
        del mdp


def chosen(named: dict, beginnings: tuple[str, ...] | None) -> dict:
    return {name: each for name, each in named.items() if beginnings is None or name.startswith(beginnings)}


def read(results: pathlib.Path) -> list[dict]:
    """The runs of a file of results, or of an archive (.xz); none if there is no such file."""
    if not results.exists():
        return []
    if results.suffix == ".xz":
        checksum, _, body = lzma.decompress(results.read_bytes()).decode().partition("\n")
        if hashlib.sha256(body.encode()).hexdigest() != checksum:
            raise ValueError(f"{results} was altered: its checksum does not match")
    else:
        body = results.read_text(encoding="utf-8")
    return [json.loads(line) for line in body.splitlines()]


def store(runs: list[dict], path: pathlib.Path) -> None:
    """Writes an archive: a checksum, then one run per line, with numbers of six digits."""
    body = "\n".join(sorted(json.dumps(archive.rounded(each), sort_keys=True) for each in runs))
    text = f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}"
    with storage.replacing(path, "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9))


def fill(page: str, runs: list[dict]) -> str:
    """The page with the tables of these runs."""
    before, mark, _ = page.partition(_MARK)
    if not mark:
        raise ValueError(f"the page has no line {_MARK}")
    return f"{before}{mark}\n\n{tables(runs)}\n"


def stuck(gaps) -> int:
    """The runs whose gap is above ten times the median."""
    return int(np.sum(np.asarray(gaps) > 10 * max(np.median(gaps), 1e-6)))


def panel_table(found: dict[str, dict[str, list[dict]]]) -> str:
    """One row per variant: regret, gap and stuck runs at the end; against uniform the gaps at three times."""
    rows = []
    for variant in VARIANTS:
        cells = []
        for problem in PANELS:
            runs = found.get(problem, {}).get(variant, [])
            if not runs:
                cells.append("–")
            elif "uniform" in problem:
                gaps = np.mean([each["gap"] for each in runs], axis=0)
                cells.append(f"{', '.join(f'{gap:.3f}' for gap in gaps)} ({len(runs)})")
            else:
                regret, gaps = (np.array([each[key][-1] for each in runs]) for key in ("regret", "gap"))
                error = regret.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
                cells.append(f"{regret.mean():,.0f} ± {error:,.0f}, {gaps.mean():.4f}, {stuck(gaps)}/{len(runs)}")
        if set(cells) != {"–"}:
            rows.append([variant, *cells])
    return markdown(["variant", *PANELS], rows)


def further_table(found: dict[str, dict[str, list[dict]]]) -> str:
    """One row per variant: on how many further problems its mean gap is 10% smaller, or larger, than the default's."""
    rows = []
    for variant in VARIANTS:
        cells, ratios = [], []
        for mark in range(len(_MARKS)):
            smaller = larger = number = 0
            for problem in FURTHER:
                runs, base = (found.get(problem, {}).get(each, []) for each in (variant, "default"))
                seeds = {each["seed"] for each in runs} & {each["seed"] for each in base}
                if not seeds:
                    continue
                mine, its = (
                    np.mean([each["gap"][mark] for each in of if each["seed"] in seeds]) for of in (runs, base)
                )
                number += 1
                smaller += mine < its / 1.1 - 1e-6
                larger += mine > its * 1.1 + 1e-6
                ratios.append(np.log((mine + 1e-4) / (its + 1e-4)))
            cells.append(f"{smaller}, {larger} of {number}")
        if ratios:
            rows.append([variant, *cells, f"{np.exp(np.mean(ratios)):.2f}"])
    header = [f"gap smaller, larger by 10% after {mark:,}" for mark in _MARKS]
    return markdown(["variant", *header, "ratio of gaps (+ 0.0001), geometric mean"], rows)


def gap_table(found: dict[str, dict[str, list[dict]]]) -> str:
    """One row per further problem: the default's mean gaps, and how often its intervals held."""
    rows = []
    for problem in FURTHER:
        runs = found.get(problem, {}).get("default", [])
        if runs:
            gaps = np.mean([each["gap"] for each in runs], axis=0)
            held = [f"{sum(each[key] for each in runs)}/{len(runs)}" for key in ("covered", "gap covered")]
            rows.append([problem, *(f"{gap:.4f}" for gap in gaps), *held])
    return markdown(["problem", *(f"gap after {mark:,}" for mark in _MARKS), "value held", "gap held"], rows)


def tables(runs: list[dict]) -> str:
    found: dict[str, dict[str, list[dict]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for each in runs:
        found[each["problem"]][each["variant"]].append(each)
    held = [each for each in runs if each["variant"] == "default" and "covered" in each]
    costs = [
        f"{problem}: {np.median([each['seconds'] / each['marks'][-1] for each in found[problem]['default']]) * 1e6:.2f}"
        for problem in PANELS
        if found[problem]["default"]
    ]
    return "\n\n".join(
        [
            "Panels: regret after 10⁶ episodes ± one standard error, value gap, runs whose gap is above ten times the "
            "median; against uniform the gaps after 10,000, 45,000 and 100,000, and in brackets the "
            "number of runs. Utilities.",
            panel_table(found),
            f"Processor time of the default, µs an episode: {'; '.join(costs)}.",
            "The further problems of `experiments.compare`, beside the default on the same seeds:",
            further_table(found),
            gap_table(found),
            f"The default's 90% intervals held the value of the recommended policy in "
            f"{sum(each['covered'] for each in held)} of {len(held)} runs, and its gap in "
            f"{sum(each['gap covered'] for each in held)}.",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    with tempfile.TemporaryDirectory() as folder:
        carry_out(options, pathlib.Path(folder))
    runs = read(options.results)
    if options.archive is not None:
        store(runs, options.archive)
    if options.page is None:
        print(tables(runs))
    else:
        options.page.write_text(fill(options.page.read_text(encoding="utf-8"), runs), encoding="utf-8")


if __name__ == "__main__":
    main()
