"""A cache of the figures of a page: a run whose steps are all cached draws nothing."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_bert.core.folders import write_whole
from pipeline.views import loss_plot, pareto_plot

# The code that draws; a change of it makes the cache invalid.
_CODE = (*sorted(Path(__file__).parent.glob("*figure*.py")), Path(loss_plot.__file__), Path(pareto_plot.__file__))


class FigureCache:
    """The figures of the last page, by the values that they show.

    Args:
        file: the file of the cache; if it cannot be read or written, figures are drawn again. None keeps no figures.
    """

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

        key = hashlib.sha256(json.dumps([draw.__name__, self._code, values]).encode()).hexdigest()
        if key not in self._used:
            self._used[key] = self._stored.get(key) or draw(*values)
        return [Markup(svg) for svg in self._used[key]]  # noqa: S704, our own files, all text in them escaped

    def keep(self) -> None:
        """Writes the figures that were used, if the folder of the file exists."""
        if self._file is None or self._used == self._stored:
            return
        with contextlib.suppress(OSError):
            write_whole(self._file, self._used)
