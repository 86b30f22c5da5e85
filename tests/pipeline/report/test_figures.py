"""Pictures as parts of a page, and the numbers on their axes."""

import re

import pytest

from pipeline.report.calibration_figure import draw_reliability
from pipeline.report.figures import DARK_COLORS, NAMES
from pipeline.report.size_figure import ModelPoint, draw_sizes
from pipeline.report.training_figure import draw_training, short
from pipeline.report.trainings import Curve, TrainingCurves
from pipeline.views.plot_style import COLORS


@pytest.mark.parametrize(
    ("value", "is_small", "label"),
    [
        (0.0, True, "0"),
        (0.0, False, "0"),
        (0.25, False, "0.25"),
        (2.0, False, "2"),
        (1500.0, False, "1.5k"),
        (2e-4, True, "2e-4"),
        (1.5e-4, True, "1.5e-4"),
        (2e-12, True, "2e-12"),
    ],
)
def test_numbers_on_axes_are_short(value, is_small, label):
    assert short(value, is_small=is_small) == label


def training(*names):
    lines = [Curve(name, [(1, 0.5), (2, 0.4)], is_held_out) for name in names for is_held_out in (False, True)]
    return TrainingCurves("fit", [], {"loss": lines, "learning rate": [Curve(name, [(1, 1e-4)]) for name in names]}, {})


def test_all_colours_are_those_of_the_page():
    svgs = draw_training(training("", "seed 1"))
    svgs += draw_reliability({"before": [None, {"rows": 3, "confidence": 0.9, "accuracy": 0.5}]})
    svgs += draw_sizes([ModelPoint(str(n), n + 1.0, n + 2.0, 50.0 + n, 0.5, n == 1) for n in range(9)], "macro_f1")
    for svg in svgs:
        assert svg.startswith('<svg role="img" aria-label="')
        assert re.findall(r"#[0-9a-fA-F]{6}\b", svg) == []
        assert set(re.findall(r"var\(--(\w+)\)", svg)) <= set(NAMES.values())
        assert "http" not in svg
    assert len(DARK_COLORS) == len(COLORS)


def test_lines_are_named_once_and_only_where_there_are_several():
    loss, rate = draw_training(training("seed 0", "seed 1"))
    assert [loss.count(f">{name}<") for name in ("seed 0", "seed 1", "training")] == [1, 1, 0]
    assert "seed" not in rate
    alone, _ = draw_training(training(""))
    assert [alone.count(f">{name}<") for name in ("training", "validation")] == [1, 1]


def test_short_lines_have_a_mark_at_each_point_and_begin_at_step_0():
    def draw(count):
        line = Curve("", [(100 + step, 1.0 / (1 + step)) for step in range(count)])
        return draw_training(TrainingCurves("fit", [], {"loss": [line]}, {}))[0]

    mark = f'style="fill: var(--{NAMES[COLORS[1]]})'
    assert (draw(20).count(mark), draw(200).count(mark)) == (20, 0)
    assert ">0</text>" in draw(20)


def test_markers_lie_over_all_error_bars():
    points = [ModelPoint(name, 1.0, 1.0, score, 5.0) for name, score in (("a", 50.0), ("b", 51.0))]
    svg = draw_sizes(points, "f1")[0]
    bars = [match.start() for match in re.finditer(r'style="fill: none; stroke: var\(--c\d\)"', svg)]
    markers = [match.start() for match in re.finditer(r"fill: var\(--c\d\); stroke: var\(--card\)", svg)]
    assert (len(bars), len(markers)) == (2, 4), "of the markers two are in the legend"
    assert max(bars) < min(markers)


def test_scores_of_a_hundred_have_no_axis_above():
    points = [
        ModelPoint(name, size, size, 100.0, None, "shipped" * (name == "b")) for name, size in (("a", 2.0), ("b", 1.0))
    ]
    for svg in draw_sizes(points, "f1"):
        numbers = [float(text) for text in re.findall(r">(\d+(?:\.\d+)?)</text>", svg)]
        assert max(numbers) == 100.0
        assert ">b, shipped<" in svg
