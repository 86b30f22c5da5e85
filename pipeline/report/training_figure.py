"""Draws the panels of a training: loss, learning rate and speed over steps."""

from collections.abc import Sequence
from typing import Any

from pipeline.report.figures import PAGE_STYLE, as_svg
from pipeline.report.trainings import Curve, TrainingCurves
from pipeline.views.plot_style import COLORS, MARKERS

# So many names fit beside a title.
_FEW = 3
# If all numbers of an axis are smaller, they are written as powers of ten.
_SMALL = 0.01
# Inches; a page shows 96 pixels of each.
_SIZE = (3.5, 2.35)
# Lines of at most so many points have a mark at each.
_MOST_MARKS = 40
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def draw_training(training: TrainingCurves) -> list[str]:
    """Draws a figure for every panel as SVG; the first one has the legend for all."""
    import matplotlib as mpl

    with mpl.rc_context(PAGE_STYLE):
        return [
            _draw(f"{training.name}: {title} over steps", title, lines, named=number == 0)
            for number, (title, lines) in enumerate(training.panels.items())
        ]


def _draw(description: str, title: str, lines: Sequence[Curve], *, named: bool) -> str:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.155, 0.15, 0.815, 0.72))
    names = list(dict.fromkeys(line.name for line in lines))
    for line in lines:
        _draw_curve(axes, line, names.index(line.name), several=len(names) > 1)
    is_small = max(abs(y) for line in lines for _, y in line.points) < _SMALL
    axes.set_title(title, loc="left")
    axes.margins(x=0.03, y=0.08)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y, is_small=is_small)))
    axes.set_xlabel("step", labelpad=1)
    if named and len(lines) > 1:
        # Beside the title if it is short, else where there is room.
        count = len(axes.get_legend_handles_labels()[1])
        style: dict[str, Any] = {"fontsize": 8, "handlelength": 1.7, "handletextpad": 0.4, "labelspacing": 0.25}
        if count <= _FEW:
            style |= {"loc": "lower right", "bbox_to_anchor": (1.0, 0.99), "ncols": count, "columnspacing": 0.9}
        axes.legend(frameon=False, borderpad=0.1, borderaxespad=0.2, **style)
    return as_svg(figure, description)


def _draw_curve(axes: Any, line: Curve, number: int, *, several: bool) -> None:
    """Draws a line, or the marks of validations, in the colour and the dashes of its name."""
    color = COLORS[(number + 1) % len(COLORS)]
    across, up = zip(*line.points, strict=True)
    if line.is_held_out:
        label = None if several else "validation"
        marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 5.5, "markeredgewidth": 1.3}
        axes.plot(across, up, color=color, linestyle="none", markerfacecolor="none", label=label, zorder=3, **marks)
        return
    label = line.name if several else "training"
    marks = {"marker": ".", "markersize": 5} if len(line.points) <= _MOST_MARKS else {}
    axes.plot(across, up, color=color, linestyle=_DASHES[number % len(_DASHES)], linewidth=1.4, label=label, **marks)


def short(value: float, *, is_small: bool = False) -> str:
    """A number on an axis: `0.25`, `3k`; `2e-4` where all numbers of the axis are small."""
    if abs(value) >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:.1e}".replace(".0e", "e").replace("e-0", "e-") if is_small and value else f"{value:g}"
