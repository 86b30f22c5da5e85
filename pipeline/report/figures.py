"""Renders and caches matplotlib figures as SVG with the light and dark colours of the page, without addresses."""

import contextlib
import hashlib
import html
import inspect
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_bert.core.folders import write_whole
from pipeline.views import pareto_plot, plot_style
from pipeline.views.plot_style import COLORS, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that become CSS variables; the style sheet defines lighter colours for dark mode.
INK, GRID, CARD = "#555555", "#E6E6E6", "#FFFFFF"
NAMES = {
    INK: "ink",
    GRID: "grid",
    CARD: "card",
    "#333333": "ink",
    **{color: f"c{place}" for place, color in enumerate(COLORS)},
}
# `COLORS` for dark mode, with the same contrast on black.
DARK_COLORS = ("#9C8FF2", "#5AADE6", "#DC8BCD", "#3FC9A0", "#FF9350", "#93D2F6", "#E9C24D", "#B8B8B8")
PAGE_STYLE: dict[Any, Any] = {
    **STYLE,
    "svg.hashsalt": "report",
    "font.size": 9,
    "text.color": "#333333",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "savefig.transparent": True,
}
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def as_svg(figure: "Figure", description: str) -> str:
    """Renders a figure as an `<svg>` element whose text is escaped; to be called within `PAGE_STYLE`.

    `description` tells screen readers what the figure shows.
    """
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=_NO_METADATA)
    text = written.getvalue()
    text = text[text.index("<svg") :]
    # Namespaces are addresses and not needed inside a page. Group ids would not be unique on it.
    text = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"font-family: [^;\"]*;?", "", text)
    for color, name in NAMES.items():
        text = re.sub(rf"{color}\b", f"var(--{name})", text, flags=re.IGNORECASE)
    return text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description)}" class="plot" ', 1).strip()


# The code that all figures share; a change of it, or of the module of a figure, makes the cached figures invalid.
_CODE = (Path(__file__), Path(plot_style.__file__), Path(pareto_plot.__file__))


class FigureCache:
    """The figures of the last page, by the values that they show; without a file that can be read, they are drawn."""

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._used = file, dict[str, list[str]]()
        self._code = hashlib.sha256(b"\0".join(path.read_bytes() for path in _CODE)).hexdigest()
        if file is None:
            self._stored: dict[str, list[str]] = {}
            return
        try:
            self._stored = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._stored = {}

    def draw(self, draw: Callable[..., list[str]], *values: Any) -> list[Any]:
        """Draws plain values with a function, or reads its figures from the cache; returns them as parts of a page."""
        from markupsafe import Markup

        module = Path(inspect.getfile(draw)).read_text(encoding="utf-8")
        key = hashlib.sha256(json.dumps([draw.__name__, module, self._code, values]).encode()).hexdigest()
        if key not in self._used:
            self._used[key] = self._stored.get(key) or draw(*values)
        return [Markup(svg) for svg in self._used[key]]  # noqa: S704, our own files, all text in them escaped

    def keep(self) -> None:
        """Writes the figures that were used, if the folder of the file exists."""
        if self._file is None or self._used == self._stored:
            return
        with contextlib.suppress(OSError):
            write_whole(self._file, self._used)
