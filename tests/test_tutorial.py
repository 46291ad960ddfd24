"""The tutorial and its notebook: the same text, and every cell runs."""

import importlib.util
import json
import pathlib

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


def test_the_notebook_is_made_from_the_tutorial():
    spec = importlib.util.spec_from_file_location("make_notebook", DOCS / "make_notebook.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    text = maker.SOURCE.read_text(encoding="utf-8")
    assert maker.TARGET.read_text(encoding="utf-8") == maker.notebook(text), "run python docs/make_notebook.py"


@pytest.mark.slow
def test_every_cell_of_the_notebook_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    document = json.loads((DOCS / "tutorial.ipynb").read_text(encoding="utf-8"))
    code = [cell["source"] for cell in document["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 4
    namespace: dict = {"__name__": "__main__"}
    for source in code:
        source = source.replace("seconds=10", "seconds=2").replace("episodes=200_000", "episodes=20_000")
        exec(compile(source, "tutorial.ipynb", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "responses against Cautious" in printed and "responses against ismcts" in printed
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert "exactly" in printed and "grew to" in printed
