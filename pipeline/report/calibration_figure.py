"""A reliability diagram (Guo et al. 2017): the share of right answers over their confidence, before and after."""

from collections.abc import Mapping, Sequence

from pipeline.report.figures import INK, PAGE_STYLE, as_svg
from pipeline.views.loss_plot import COLORS

_SIZE = (3.5, 3.1)
# Points across; the largest is the bin with the most rows.
_LARGEST = 13.0
# Per cent: axes begin there at the latest.
_HIGHEST_START = 80.0


def draw_reliability(reliability: Mapping[str, Sequence[Mapping[str, float] | None]]) -> list[str]:
    """Two pictures as SVG; a mark's area is the share of rows in its bin, and on the line confidence is accuracy."""
    import matplotlib as mpl

    with mpl.rc_context(PAGE_STYLE):
        return [_draw(name, [own for own in bins if own]) for name, bins in reliability.items()]


def _draw(name: str, bins: Sequence[Mapping[str, float]]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE)
    axes = figure.add_axes((0.14, 0.13, 0.83, 0.77))
    axes.plot([0, 100], [0, 100], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    most = max(own["rows"] for own in bins)
    points = [(100 * own["confidence"], 100 * own["accuracy"]) for own in bins]
    axes.plot(*zip(*points, strict=True), color=COLORS[1], linewidth=1.2, zorder=2)
    for (x, y), own in zip(points, bins, strict=True):
        size = max(2.5, _LARGEST * (own["rows"] / most) ** 0.5)
        axes.plot(
            [x], [y], "o", color=COLORS[1], markersize=size, markeredgewidth=0, alpha=0.85, zorder=3, clip_on=False
        )
    low = max(0.0, min(_HIGHEST_START, *(min(point) - 5 for point in points)))
    axes.set_xlim(low, 100)
    axes.set_ylim(low, 100)
    axes.set_title(f"{name} calibration", loc="left")
    axes.set_xlabel("confidence, %", labelpad=1)
    axes.set_ylabel("right answers, %", labelpad=2)
    return as_svg(figure, f"share of right answers over confidence, {name} calibration")
