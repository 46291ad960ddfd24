"""The pages in docs/: what they link to is there, and their drawing is made by its script."""

import importlib.util
import pathlib
import re

import pytest

import tmdp_spiel as ts

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, f"docs/index.md does not link to {page.name}"


@pytest.fixture(scope="module")
def draw_concepts():
    spec = importlib.util.spec_from_file_location("draw_concepts", ROOT / "docs" / "draw_concepts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawing_marks_what_the_plan_plays(draw_concepts, mdp_of):
    tree = mdp_of("kuhn", 0).tree
    pass_then_bet = [0, 0, 0, 1, 1, 1]
    assert draw_concepts.played_sequences(tree, pass_then_bet) == {tree.num_sequences, 0, 2, 4, 7, 9, 11}
    always_bet = [1, 1, 1, 1, 1, 1]
    assert draw_concepts.played_sequences(tree, always_bet) == {tree.num_sequences, 1, 3, 5}


def test_the_picture_of_the_concepts_is_drawn(draw_concepts, tmp_path):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    assert draw_concepts.outcomes_text(mdp, 1) == "−2: 1/6\n+1: 1/6"
    draw_concepts.draw(mdp, mdp.best_response()[1], tmp_path / "concepts.png")
    assert (tmp_path / "concepts.png").stat().st_size > 10_000
