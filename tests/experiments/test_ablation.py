import json

import pytest

from experiments.benchmarks import ablation


def test_runs_are_stored_once_and_tabled(tmp_path, capsys):
    arguments = ["--problems=kuhn x", "--variants=default,sigma", "--runs=1", f"--results={tmp_path / 'runs'}"]
    ablation.main(arguments)
    first = (tmp_path / "runs").read_text(encoding="utf-8")
    ablation.main([*arguments, f"--output={tmp_path / 'table'}"])
    assert (tmp_path / "runs").read_text(encoding="utf-8") == first
    runs = [json.loads(line) for line in first.splitlines()]
    assert [each["variant"] for each in runs] == ["default", "sigma of all episodes"]
    assert [each["seed"] for each in runs] == [20_000, 20_000] and runs[0]["regret"] != runs[1]["regret"]
    table = (tmp_path / "table").read_text(encoding="utf-8")
    assert table == capsys.readouterr().out
    assert f"| kuhn x, equilibrium | {runs[0]['gap'][0]:.4f} | {runs[0]['gap'][1]:.4f} |" in table
    assert "| sigma of all episodes | 0, 0 of 1 | 0, 0 of 1 | 1.00 |" in table


def test_every_change_is_of_a_line_that_is_there(tmp_path):
    for variant in ablation.VARIANTS.values():
        assert ablation.make_class(variant, tmp_path).__name__ == "ThompsonTree"
    with pytest.raises(ValueError, match="has 0 lines with 'no such line', not one"):
        ablation.make_class(ablation.Variant({}, ("no such line", "")), tmp_path)


def test_a_run_is_stuck_above_ten_times_the_median():
    assert ablation.stuck([0.001, 0.001, 0.0011, 0.2]) == 1
    assert ablation.stuck([0.0, 0.0, 1e-7]) == 0
