"""Draws attention heads as points in the plane: heads that are close look at the same tokens (Clark et al. 2019)."""

from collections.abc import Sequence
from typing import Any

from pipeline.report.figures import CARD, PAGE_STYLE, as_svg
from pipeline.views.plot_style import COLORS, MARKERS
from plugins.explain.artifacts import HeadReport

_SIZE = (3.9, 3.4)
# The number of columns of the legend.
_COLUMNS = 3


def draw_heads(heads: Sequence[HeadReport]) -> list[str]:
    """Draws the heads of each model as SVG: the mark is the kind of the head, the number is its layer."""
    import matplotlib as mpl

    kinds = sorted({kind for model in heads for layer in model.kinds for kind in layer})
    with mpl.rc_context(PAGE_STYLE):
        return [_draw(model, kinds) for model in heads]


def _draw(model: HeadReport, kinds: Sequence[str]) -> str:
    from matplotlib.figure import Figure

    lines = -(-len(kinds) // _COLUMNS)
    figure = Figure(figsize=_SIZE)
    bottom = 0.04 + 0.06 * lines
    axes = figure.add_axes((0.03, bottom, 0.94, 0.91 - bottom))
    numbers = [(layer, kind) for layer, row in enumerate(model.kinds) for kind in row]
    for place, kind in enumerate(kinds):
        points = [point for point, (_, head_kind) in zip(model.positions, numbers, strict=True) if head_kind == kind]
        style: dict[str, Any] = {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="",
            markersize=8,
            markeredgecolor=CARD,
            label=kind,
            **style,
        )
    for (x, y), (layer, _) in zip(model.positions, numbers, strict=True):
        axes.annotate(str(layer), (x, y), textcoords="offset points", xytext=(5, 3), fontsize=7)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"{model.model}: heads by layer", loc="left")
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower left",
        bbox_to_anchor=(0.0, 0.0),
        ncols=_COLUMNS,
        frameon=False,
        fontsize=8,
        handletextpad=0.1,
        columnspacing=0.8,
    )
    return as_svg(
        figure, f"attention heads of {model.model} in the plane; heads that are close look at the same tokens"
    )
