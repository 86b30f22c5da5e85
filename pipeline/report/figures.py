"""Pictures of matplotlib as a part of a page: in the page's own colours, light or dark, and without an address."""

import html
import io
import re
from typing import TYPE_CHECKING, Any

from pipeline.views.loss_plot import COLORS, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that the page's style sheet knows by name; in the dark they are lighter there.
INK, GRID = "#555555", "#E6E6E6"
NAMES = {INK: "ink", GRID: "grid", "#333333": "ink", **{color: f"c{place}" for place, color in enumerate(COLORS)}}
# Of `COLORS`, as bright on black as those are dark on white.
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


def as_svg(figure: "Figure", told: str) -> str:
    """An `<svg>` element for a page, all text in it escaped; call it within `PAGE_STYLE`.

    Args:
        figure: what is drawn.
        told: what it shows, for those who do not see it.
    """
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=_NO_METADATA)
    text = written.getvalue()
    text = text[text.index("<svg") :]
    # Names of formats are addresses; inside of a page none is needed, and no name of a group, which others have, too.
    text = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"font-family: [^;\"]*;?", "", text)
    for color, name in NAMES.items():
        text = re.sub(rf"{color}\b", f"var(--{name})", text, flags=re.IGNORECASE)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(told)}" class="plot" ', 1).strip()
