"""The panels of a training: loss, learning rate and speed over steps."""

from collections.abc import Sequence
from typing import Any

from pipeline.report.figures import PAGE_STYLE, as_svg
from pipeline.report.trainings import Line, Training
from pipeline.views.loss_plot import COLORS, MARKERS

# Inches; a page shows 96 pixels of each.
_SIZE = (3.5, 2.35)
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def draw_training(training: Training) -> list[str]:
    """A picture a panel, as SVG."""
    import matplotlib as mpl

    with mpl.rc_context(PAGE_STYLE):
        return [_draw(training.name, title, lines) for title, lines in training.panels.items()]


def _draw(name: str, title: str, lines: Sequence[Line]) -> str:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.155, 0.15, 0.815, 0.72))
    names = list(dict.fromkeys(line.name for line in lines))
    for line in lines:
        _add(axes, line, names.index(line.name), several=len(names) > 1, paired=any(own.is_held_out for own in lines))
    axes.set_title(title, loc="left")
    axes.margins(x=0.03, y=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y)))
    axes.set_xlabel("step", labelpad=1)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8, handlelength=1.8, labelspacing=0.25, borderpad=0.1, borderaxespad=0.2)
    return as_svg(figure, f"{name}: {title} over steps")


def _add(axes: Any, line: Line, number: int, *, several: bool, paired: bool) -> None:
    """A line, or the marks of a validation, in the colour and the dashes of its name."""
    color = COLORS[(number + 1) % len(COLORS)]
    across, up = zip(*line.points, strict=True)
    if line.is_held_out:
        told = "validation" if not several else None
        marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 5.5, "markeredgewidth": 1.3}
        axes.plot(across, up, color=color, linestyle="none", markerfacecolor="none", label=told, zorder=3, **marks)
        return
    told = line.name if several else "training" if paired else None
    single = {"marker": "o", "markersize": 3} if len(line.points) == 1 else {}
    axes.plot(across, up, color=color, linestyle=_DASHES[number % len(_DASHES)], linewidth=1.6, label=told, **single)


def short(value: float) -> str:
    """A number on an axis: `0.25`, `3k`, `2e-4`."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value / 1000:g}k"
    if abs(value) < 0.01:
        return f"{value:.2g}".replace("e-0", "e-")
    return f"{value:g}"
