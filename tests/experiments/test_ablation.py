import json
import lzma
import pathlib

import pytest

from experiments.benchmarks import ablation

HERE = pathlib.Path(__file__).parents[2] / "docs"


def test_the_page_agrees_with_the_stored_runs():
    page = (HERE / "lab" / "ablation.md").read_text(encoding="utf-8")
    runs = ablation.read(HERE / "runs" / "ablation.jsonl.xz")
    assert ablation.fill(page, runs) == page
    assert min(each["seed"] for each in runs) >= 70_000 and {each["variant"] for each in runs} <= set(ablation.VARIANTS)
    with pytest.raises(ValueError, match="the page has no line <!-- tables -->"):
        ablation.fill("no such line", runs)


def test_an_archive_keeps_the_runs_and_notices_changes(tmp_path):
    runs = [{"problem": "a", "regret": [1.23456789]}, {"problem": "b", "regret": [2.0]}]
    ablation.store(runs, tmp_path / "runs.xz")
    assert ablation.read(tmp_path / "runs.xz") == [{"problem": "a", "regret": [1.23457]}, runs[1]]
    (tmp_path / "runs.xz").write_bytes(lzma.compress(b"0" * 64 + b"\n{}"))
    with pytest.raises(ValueError, match="was altered"):
        ablation.read(tmp_path / "runs.xz")


def test_runs_are_stored_once_and_tabled(tmp_path, capsys):
    arguments = ["--problems=kuhn x", "--variants=default,sigma", "--runs=1", f"--results={tmp_path / 'runs'}"]
    ablation.main(arguments)
    first = (tmp_path / "runs").read_text(encoding="utf-8")
    (tmp_path / "page").write_text("A page.\n\n<!-- tables -->\nold\n", encoding="utf-8")
    ablation.main([*arguments, f"--page={tmp_path / 'page'}", f"--archive={tmp_path / 'runs.xz'}"])
    assert (tmp_path / "runs").read_text(encoding="utf-8") == first
    runs = [json.loads(line) for line in first.splitlines()]
    assert [each["variant"] for each in runs] == ["default", "sigma of all episodes"]
    assert [each["seed"] for each in runs] == [70_000, 70_000] and runs[0]["regret"] != runs[1]["regret"]
    page, table = (tmp_path / "page").read_text(encoding="utf-8"), capsys.readouterr().out
    assert page == f"A page.\n\n<!-- tables -->\n\n{table}"
    assert [each["seed"] for each in ablation.read(tmp_path / "runs.xz")] == [70_000, 70_000]
    assert f"| kuhn x, equilibrium | {runs[0]['gap'][0]:.4f} | {runs[0]['gap'][1]:.4f} |" in table
    its, mine = (each["gap"] for each in runs)
    cells = [f"{int(b < a / 1.1 - 1e-6)}, {int(b > a * 1.1 + 1e-6)} of 1" for a, b in zip(its, mine, strict=True)]
    ratio = ((mine[0] + 1e-4) * (mine[1] + 1e-4) / (its[0] + 1e-4) / (its[1] + 1e-4)) ** 0.5
    assert f"| sigma of all episodes | {cells[0]} | {cells[1]} | {ratio:.2f} |" in table


def test_every_change_is_of_a_line_that_is_there(tmp_path):
    for variant in ablation.VARIANTS.values():
        assert ablation.make_class(variant, tmp_path).__name__ == "ThompsonTree"
    with pytest.raises(ValueError, match="has 0 lines with 'no such line', not one"):
        ablation.make_class(ablation.Variant({}, ("no such line", "")), tmp_path)


def test_a_run_is_stuck_above_ten_times_the_median():
    assert ablation.stuck([0.001, 0.001, 0.0011, 0.2]) == 1
    assert ablation.stuck([0.0, 0.0, 1e-7]) == 0
