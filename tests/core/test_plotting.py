"""The style of all pictures, and labels at the ends of curves."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from experiments.paper import figures, settings
from experiments.sweep import drawing
from experiments.sweep.curves import Curve
from tmdp_spiel.core import plotting
from tmdp_spiel.exploit import training_curve


def test_a_styled_function_has_the_style_and_leaves_none_behind():
    inside = plotting.styled(lambda: mpl.rcParams["axes.spines.top"])
    before = mpl.rcParams["axes.spines.top"]
    assert inside() is False and mpl.rcParams["axes.spines.top"] is before is True


@pytest.mark.parametrize("heights", [[0.5, 0.5, 0.5], [1.0, 0.99, 0.98], [0.0, 0.01, 1.0], [0.0, 0.99, 1.0, 1.0]])
def test_labels_do_not_overlap_and_stay_in_the_axes(heights):
    axes = Figure().subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    plotting.label_ends(axes, [(1, height, str(at), "black") for at, height in enumerate(heights)])
    places = sorted(text.xyann[1] for text in axes.texts)
    assert all(above - below >= plotting._LINE - 1e-9 for below, above in itertools.pairwise(places))
    assert places[0] >= -1e-9 and places[-1] <= 1 + 1e-9


def curve(name, end, runs=2, episodes=1000):
    return Curve(name, np.array([10, episodes]), np.array([[1.0, end]] * runs), tuple(range(runs)))


def test_five_curves_are_highlighted_and_the_others_grey():
    ends = {f"learner{at}": 0.1 * (at + 1) for at in range(8)}
    found = {name: curve(name, end) for name, end in ends.items()}
    axes = Figure().subplots()
    drawing.draw_curves(axes, found, drawing.styles_of(set(found)))
    grey = [line for line in axes.lines if line.get_color() == drawing._GREY]
    assert len(grey) == 3 and min(line.get_ydata()[-1] for line in grey) > 0.5
    assert {text.get_text() for text in axes.texts} == {f"learner{at}" for at in range(5)}


def test_a_training_curve_has_labels_instead_of_a_legend(tmp_path):
    points = [
        training_curve.Point(
            name, {"exploitability": {"lower": 0.1, "upper": 0.4, "exact": 0.2}, "unit": "chips a hand"}
        )
        for name in ("first.json", "last.json")
    ]
    training_curve.draw(points, tmp_path / "curve.svg", "kuhn")
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    for words in ("certified", "exact", "exploitability, chips a hand", "first", "last", "kuhn"):
        assert f"<!-- {words} -->" in picture
    assert "legend" not in picture


def test_a_curve_of_exact_values_has_no_band(tmp_path):
    interval = {"lower": 0.2, "upper": 0.2, "exact": 0.2}
    points = [training_curve.Point(name, {"exploitability": interval}) for name in ("first.json", "last.json")]
    training_curve.draw(points, tmp_path / "curve.svg")
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert "<!-- exact -->" in picture and "<!-- certified -->" not in picture


def test_the_format_of_a_curve_is_checked_before_the_work():
    training_curve.check_format("curve.svg")
    training_curve.check_format("curve")
    with pytest.raises(ValueError, match="not as html: curve.html"):
        training_curve.check_format("curve.html")


def test_small_scale_is_said_in_the_picture():
    panel = next(each for each in settings.PANELS if each.game == "leduc")
    assert figures.scale_of([(panel, {"UCT": curve("UCT", 0.1)})]) == (
        "Small-scale reproduction: Leduc poker 2 runs of 1,000 episodes."
    )
    full = figures.scale_of([(panel, {"UCT": curve("UCT", 0.1, 50, 1_000_000)})])
    assert full == "Reproduction: Leduc poker 50 runs of 1,000,000 episodes."
