"""The README's code runs."""

import pathlib
import re

import numpy as np
import pytest

import tmdp_spiel as ts

README = pathlib.Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_the_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opening, first, second, third = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {"np": np}
    exec(opening.replace("seconds=20", "seconds=4"), names)
    assert "exploitability" in capsys.readouterr().out and (tmp_path / "report.html").exists()
    exec(first, names)
    printed = capsys.readouterr().out
    assert "value gap" in printed and "epsilon-best response" in printed
    names["learner"] = ts.LUCB(names["mdp"].tree, epsilon=0.5)
    exec(second, names)
    assert names["learner"].stopped
    assert len(names["policy"].states) == names["mdp"].tree.num_states
    exec(third, names)
    assert names["agent"].player_id == 0
