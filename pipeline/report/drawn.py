"""Pictures that were drawn before: a run that finds all steps done draws nothing anew."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.views import loss_plot, pareto_plot

# What decides how a picture looks besides its values.
_CODE = (*sorted(Path(__file__).parent.glob("*figure*.py")), Path(loss_plot.__file__), Path(pareto_plot.__file__))


class Drawn:
    """The pictures of the page that was written last, by what they show.

    Args:
        file: where they are kept; what cannot be read or written there is drawn again. None keeps none.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._used = file, dict[str, list[str]]()
        self._code = hashlib.sha256(b"\0".join(path.read_bytes() for path in _CODE)).hexdigest()
        if file is None:
            self._known: dict[str, list[str]] = {}
            return
        try:
            self._known = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._known = {}

    def draw(self, draw: Callable[..., list[str]], *values: Any) -> list[Any]:
        """What a function makes of plain values, as parts of a page."""
        from markupsafe import Markup

        told = json.dumps([draw.__name__, self._code, values])
        key = hashlib.sha256(told.encode()).hexdigest()
        if key not in self._used:
            self._used[key] = self._known.get(key) or draw(*values)
        return [Markup(svg) for svg in self._used[key]]  # noqa: S704, our own files, all text in them escaped

    def keep(self) -> None:
        """Writes those that were asked for, if there is a folder for them."""
        if self._file is None or self._used == self._known:
            return
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(self._used), encoding="utf-8")
            temporary.rename(self._file)
