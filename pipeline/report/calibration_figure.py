"""Draws reliability diagrams (Guo et al. 2017): the share of correct answers over their confidence."""

from collections.abc import Mapping, Sequence

from pipeline.report.figures import INK, PAGE_STYLE, as_svg
from pipeline.views.plot_style import COLORS

_SIZE = (3.5, 3.1)
# Diameter in points of the largest mark, which belongs to the bin with the most rows.
_LARGEST = 13.0
# The axes start at most here, in percent.
_HIGHEST_START = 80.0


def draw_reliability(reliability: Mapping[str, Sequence[Mapping[str, float] | None]]) -> list[str]:
    """Draws the diagrams before and after calibration as SVG; the area of a mark is proportional to its rows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figures = []
    for name, all_bins in reliability.items():
        bins = [bin_ for bin_ in all_bins if bin_]
        with mpl.rc_context(PAGE_STYLE):
            figure = Figure(figsize=_SIZE)
            axes = figure.add_axes((0.14, 0.13, 0.83, 0.77))
            axes.plot([0, 100], [0, 100], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            most = max(bin_["rows"] for bin_ in bins)
            points = [(100 * bin_["confidence"], 100 * bin_["accuracy"]) for bin_ in bins]
            axes.plot(*zip(*points, strict=True), color=COLORS[1], linewidth=1.2, zorder=2)
            for (x, y), bin_ in zip(points, bins, strict=True):
                axes.plot(
                    [x],
                    [y],
                    "o",
                    color=COLORS[1],
                    markersize=max(2.5, _LARGEST * (bin_["rows"] / most) ** 0.5),
                    markeredgewidth=0,
                    alpha=0.85,
                    zorder=3,
                    clip_on=False,
                )
            low = max(0.0, min(_HIGHEST_START, *(min(point) - 5 for point in points)))
            axes.set_xlim(low, 100)
            axes.set_ylim(low, 100)
            axes.set_title(f"{name} calibration", loc="left")
            axes.set_xlabel("confidence, %", labelpad=1)
            axes.set_ylabel("right answers, %", labelpad=2)
            figures.append(as_svg(figure, f"share of right answers over confidence, {name} calibration"))
    return figures
