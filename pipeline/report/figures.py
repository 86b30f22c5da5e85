"""Figures of matplotlib as parts of a page: in its colours, light and dark, and without addresses."""

import html
import io
import re
from typing import TYPE_CHECKING, Any

from pipeline.views.loss_plot import COLORS, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that become variables of the style sheet, which has lighter ones for the dark mode.
INK, GRID, CARD = "#555555", "#E6E6E6", "#FFFFFF"
NAMES = {
    INK: "ink",
    GRID: "grid",
    CARD: "card",
    "#333333": "ink",
    **{color: f"c{place}" for place, color in enumerate(COLORS)},
}
# The dark mode's `COLORS`, as bright on black as those are dark on white.
IN_THE_DARK = ("#9C8FF2", "#5AADE6", "#DC8BCD", "#3FC9A0", "#FF9350", "#93D2F6", "#E9C24D", "#B8B8B8")
PAGE_STYLE: dict[Any, Any] = {
    **STYLE,
    "svg.hashsalt": "report",
    "font.size": 9,
    "text.color": "#333333",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "savefig.transparent": True,
    "text.parse_math": False,
}
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def as_svg(figure: "Figure", description: str) -> str:
    """Renders a figure as an `<svg>` element whose text is escaped; to be called within `PAGE_STYLE`.

    Args:
        figure: the figure.
        description: the content of the figure, for screen readers.
    """
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=_NO_METADATA)
    text = written.getvalue()
    text = text[text.index("<svg") :]
    # Name spaces are addresses, and not needed inside of a page; ids of groups would occur several times in it.
    text = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"font-family: [^;\"]*;?", "", text)
    for color, name in NAMES.items():
        text = re.sub(rf"{color}\b", f"var(--{name})", text, flags=re.IGNORECASE)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description)}" class="plot" ', 1).strip()
