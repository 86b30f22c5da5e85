"""The style of all plots: colours, marks and ticks that are readable in grey."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# After Okabe and Ito (2008) and Tol (2021), of several lightnesses, which are left of them in grey; marks and names
# at the ends tell the rest. The baseline is black.
COLORS = ("#332288", "#0072B2", "#AA4499", "#009E73", "#D55E00", "#56B4E9", "#CC9900", "#999999")
MARKERS = "oDsv^P<>X"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#333333",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "svg.hashsalt": "loss over compute",
    "svg.fonttype": "none",
    "text.parse_math": False,
}
# Of the axis: from there on its ends are so far apart that equal factors tell more than equal steps.
LOGARITHMIC_FROM = 10.0


def set_ticks(axes: "Axes", *, is_logarithmic: bool) -> None:
    """Few marks below, with short numbers, at equal steps or at equal factors."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if is_logarithmic:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if is_logarithmic else MaxNLocator(6))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.3g}".replace("e+0", "e").replace("e+", "e")))
