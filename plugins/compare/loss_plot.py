"""Held-out loss over compute, a line a variant: for a page, and readable in grey."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.views.plot_style import COLORS, LOGARITHMIC_FROM, MARKERS, STYLE, set_ticks
from pipeline.views.reports import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILES = ("loss_over_compute.svg", "loss_over_compute.png")

# Between the labels at the ends of two lines, in points.
_LINE_HEIGHT = 11.5


class LineEnd(NamedTuple):
    """Where a line ends, and how its name is written there."""

    x: float
    y: float
    name: str
    color: str
    weight: str


def draw_losses(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws the losses of a comparison over operations and over minutes; gives the files, none without pre-training.

    Where vocabularies differ losses are in bits a byte. Dashed lines are of other predictions than the baseline's.
    """
    lines = {name: variant["pretraining"] for name, variant in content["variants"].items() if "pretraining" in variant}
    if not lines:
        return []
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        unit = "bits_a_byte" if content["pieces_differ"] else "loss"
        left.set_ylabel(f"held-out loss, {'bits a byte' if content['pieces_differ'] else 'nats a prediction'}")
        left.set_xlabel("training FLOPs")
        right.set_xlabel("minutes")
        for axes, across, scale in ((left, "flops", 1.0), (right, "seconds", 60.0)):
            _draw(axes, lines, content["baseline"], across, scale, unit)
        if any(line["unlike"] for line in lines.values()):
            text = f"dashed: other predictions than {content['baseline']}'s; heights do not compare"
            left.set_title(text, loc="left", fontsize=8.5, color="#555555")
        return save_figure(figure, folder, FILES)


def _draw(
    axes: "Axes", lines: Mapping[str, Mapping[str, Any]], baseline: str, across: str, scale: float, unit: str
) -> None:
    places = [entry[across] / scale for line in lines.values() for entry in line["curve"]]
    set_ticks(axes, is_logarithmic=max(places) >= LOGARITHMIC_FROM * min(places))
    ends = []
    for number, (name, line) in enumerate(lines.items()):
        curve = [(entry[across] / scale, entry[unit]) for entry in line["curve"]]
        color = "black" if name == baseline else COLORS[(number - 1) % len(COLORS)]
        axes.plot(
            *zip(*curve, strict=True),
            color=color,
            linewidth=2.2 if name == baseline else 1.5,
            linestyle=(0, (4, 2)) if line["unlike"] else "-",
            marker=MARKERS[number % len(MARKERS)],
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=4 if name == baseline else 3,
            clip_on=False,
        )
        ends.append(LineEnd(*curve[-1], name, color, "bold" if name == baseline else "normal"))
    axes.margins(x=0.02, y=0.08)
    _label(axes, sorted(ends, key=lambda end: end.y))


def _label(axes: "Axes", ends: Sequence[LineEnd]) -> None:
    """Writes the name of every line beside its end; overlapping names move apart."""
    low, high = axes.get_ylim()
    a_point = (high - low) / (axes.get_window_extent().height * 72 / axes.figure.dpi)
    for end, place in zip(ends, spread([end.y for end in ends], _LINE_HEIGHT * a_point), strict=True):
        leader = {"arrowstyle": "-", "color": end.color, "linewidth": 0.5, "alpha": 0.6, "shrinkB": 3}
        axes.annotate(
            end.name,
            xy=(end.x, end.y),
            xytext=(1.03, place),
            textcoords=("axes fraction", "data"),
            va="center",
            color=end.color,
            fontweight=end.weight,
            arrowprops={**leader, "relpos": (0.0, 0.5)},
            annotation_clip=False,
        )


def spread(targets: Sequence[float], least: float) -> list[float]:
    """Ascending places at least `least` apart, near to ascending targets: blocks of places that touch become one."""
    blocks: list[tuple[float, int]] = []
    for place in targets:
        middle, count = place, 1
        while blocks and middle - least * (count - 1) / 2 < blocks[-1][0] + least * (blocks[-1][1] + 1) / 2:
            other, size = blocks.pop()
            middle, count = (middle * count + other * size) / (count + size), count + size
        blocks.append((middle, count))
    return [middle + least * (number - (count - 1) / 2) for middle, count in blocks for number in range(count)]
