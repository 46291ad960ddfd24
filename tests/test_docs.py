"""The documentation: links lead somewhere, its code runs, its tables and notebook are up to date."""

import importlib.util
import itertools
import json
import pathlib
import re
import types

import pytest

import tmdp_spiel as ts

ROOT = pathlib.Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
USER_PAGES = [ROOT / "README.md", *DOCS.glob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
# Followed to the end by tests/algorithms/test_new_algorithm.py.
TESTED_ELSEWHERE = {DOCS / "new_algorithm.md"}
LONG = ("README.md", "tutorial.md")


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


def python_blocks(page: pathlib.Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def script(name: str) -> types.ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if "://" not in target:
            linked = page.parent / target if target else page
            assert linked.exists(), f"{name_of(page)} links to {target}, which is not there"
            assert not anchor or anchor in anchors(linked), f"{name_of(page)} links to {target}{anchor}"


def test_the_index_names_every_page():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not link to {name}"
        assert f": {name}\n" in site, f"{name} is not in the navigation of mkdocs.yml"


def cheap(source: str) -> str:
    """The same code with small budgets."""
    source = re.sub(r"seconds=\d+", "seconds=1", source)
    source = re.sub(r"ts\.equilibrium\((\w+)\)", r"ts.equilibrium(\1, iterations=20)", source)
    return re.sub(r"\b\d{1,3}(_000)+\b", lambda number: str(min(int(number[0]), 2_000)), source)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=pytest.mark.slow if page.name in LONG else ())
        for page in PAGES
        if python_blocks(page) and page not in TESTED_ELSEWHERE
    ],
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for block in python_blocks(page):
        exec(compile(cheap(block), name_of(page), "exec"), names)
    printed = capsys.readouterr().out
    if page.name == "README.md":
        assert "exploitability" in printed and "epsilon-best response" in printed
        assert (tmp_path / "report.html").stat().st_size > 10_000
        assert names["agent"].player_id == 0 and len(names["policy"].states) == names["mdp"].tree.num_states
    if page.name == "tutorial.md":
        assert "responses against Cautious" in printed and "responses against ismcts" in printed
        assert "exactly" in printed and "grew to" in printed


def test_the_notebook_is_made_from_the_tutorial():
    maker = script("make_notebook")
    stored = json.loads(maker.TARGET.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in stored if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code) and sum(bool(cell["outputs"]) for cell in code) >= 4
    for cell in code:
        cell |= {"execution_count": None, "outputs": []}
    assert stored == maker.cells(maker.SOURCE.read_text(encoding="utf-8")), "run python docs/make_notebook.py"


def test_running_cells_stores_what_they_print():
    maker = script("make_notebook")
    document = maker.cells("Text.\n\n```python\nx = 1\n```\n\n```python\nprint(x)\n```\n")
    maker.run(document)
    assert [cell["cell_type"] for cell in document] == ["markdown", "code", "code"]
    assert document[1]["outputs"] == [] and document[2]["outputs"][0]["text"] == "1\n"


@pytest.fixture(scope="module")
def make_results():
    return script("make_results")


def test_the_results_are_those_of_the_stored_runs(make_results):
    page = make_results.PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- table: (\w+) -->", page)) == set(make_results.TABLES)
    assert make_results.filled(page) == page, "run python docs/make_results.py"


def test_a_changed_table_is_noticed(make_results):
    page = make_results.PAGE.read_text(encoding="utf-8")
    one = re.search(r"<!-- table: regret -->\n.*?<!-- end -->", page, re.DOTALL).group(0)
    changed = one.replace("0.0", "0.1", 1)
    assert changed != one and make_results.filled(changed) == one


def test_a_damaged_archive_is_refused(make_results, tmp_path, monkeypatch):
    import lzma

    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "broken.jsonl.xz").write_bytes(lzma.compress(b"00\n{}"))
    monkeypatch.setattr(make_results, "HERE", tmp_path)
    with pytest.raises(ValueError, match="checksum"):
        make_results.stored_runs("broken")


def test_the_prose_about_learners_has_no_figures_that_the_results_lack():
    """Two digits are enough: figures in the prose are rounded ones of the tables."""
    prose = "".join(
        line for line in (DOCS / "learners.md").read_text("utf-8").splitlines(True) if not line.startswith("|")
    )
    tables = {
        float(each) for each in re.findall(r"(?<![\d,.])0\.\d+", (DOCS / "results.md").read_text(encoding="utf-8"))
    }
    for figure in re.findall(r"gap stays near (0\.\d+)", prose):
        assert any(abs(float(figure) - each) < 0.02 for each in tables)
    assert not re.findall(r"\b0\.\d{3,}\b", prose), "exact figures belong into docs/results.md"


def test_users_need_not_read_too_much():
    """Rows of figures are not counted; they are looked up, not read."""
    pages = [page for page in USER_PAGES if page.name not in ("theory.md", "new_algorithm.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    assert sum(len(line.split()) for line in lines if not re.match(r"\|.*\d\.\d", line)) < 12_000


def test_the_reference_has_every_public_name():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    listed, elsewhere = (
        re.findall(r"^::: (\S+)$", part, re.MULTILINE) for part in page.split("## In their own modules")
    )
    public = {}
    for name in ts.__all__:
        value = getattr(ts, name)
        if isinstance(value, types.ModuleType):
            public[value.__name__] = name
        elif not isinstance(value, str):
            public[f"{value.__module__}.{value.__qualname__}"] = name
    assert set(listed) == set(public), "docs/api.md lists what is not public, or lacks what is"
    assert len(listed) == len(set(listed)) and set(elsewhere).isdisjoint(listed)


def test_the_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ts.__version__}\n" in citation


def test_the_changelog_says_everything_once():
    """No two entries of a version name mostly the same things."""
    for version in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        entries = [set(re.findall(r"`([^`]+)`", entry)) for entry in version.split("\n- ")[1:]]
        for one, other in itertools.combinations(entries, 2):
            assert len(one | other) < 4 or len(one & other) <= len(one | other) / 2, one & other


@pytest.fixture(scope="module")
def draw_concepts():
    return script("draw_concepts")


def test_the_drawing_marks_what_the_plan_plays(draw_concepts, mdp_of):
    tree = mdp_of("kuhn", 0).tree
    pass_then_bet = [0, 0, 0, 1, 1, 1]
    assert draw_concepts.played_sequences(tree, pass_then_bet) == {tree.root, 1, 3, 5, 8, 10, 12}
    always_bet = [1, 1, 1, 1, 1, 1]
    assert draw_concepts.played_sequences(tree, always_bet) == {tree.root, 2, 4, 6}


def test_the_picture_of_the_concepts_is_drawn(draw_concepts, tmp_path):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    assert draw_concepts.outcomes_text(mdp, 2) == "−2: 1/6\n+1: 1/6"
    draw_concepts.draw(mdp, mdp.best_response()[1], tmp_path / "concepts.png")
    assert (tmp_path / "concepts.png").stat().st_size > 10_000


def test_the_figure_of_the_paper_is_drawn_from_the_stored_runs(make_results):
    from experiments.paper import settings

    panels = script("draw_reproduction").panels(make_results.learning_curves())
    assert [panel.letter for panel, _ in panels] == list("abcdefgh")
    for panel, curves in panels:
        assert set(curves) == set(panel.algorithms) - set(settings.LEFT_OUT[panel.game])
        assert all(curve.episode[-1] == 1_000_000 and len(curve.seeds) >= 25 for curve in curves.values())


def test_the_tables_of_a_cell_follow_the_order_of_moves(tmp_path):
    """In a round player 0 moves first: a bump fits if it comes after the stone."""
    draw_cell = script("draw_cell")
    for player in (0, 1):
        table = draw_cell.table(player)
        assert table[:, 0].all()
        for placed in range(1, draw_cell.ROUNDS + 1):
            for bumped in range(1, draw_cell.ROUNDS + 1):
                assert table[placed - 1, bumped] == ((bumped, 1 - player) > (placed, player))
    draw_cell.draw(tmp_path / "cell.png")
    assert (tmp_path / "cell.png").stat().st_size > 10_000


def test_the_tables_of_learning_on_exact_games_are_those_of_the_stored_runs(capsys):
    from experiments.benchmarks import exact_learning

    runs = exact_learning.read(DOCS / "runs" / "exact_learning.jsonl.xz")
    exact_learning.print_tables(runs)
    page = (DOCS / "lab" / "exact_games.md").read_text(encoding="utf-8")
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(printed) > len(runs) / 4 and all(line in page for line in printed)
    intervals = [found for found in runs if "lower" in found]
    assert intervals and all(f["lower"] - 1e-9 <= f["best_value"] <= f["upper"] + 1e-9 for f in intervals)


def test_modules_of_a_call_are_counted():
    found = script("count_modules").modules_of(lambda: ts.load_game("kuhn"))
    assert "tmdp_spiel/openspiel/games.py" in found and not any("algorithms" in each for each in found)
