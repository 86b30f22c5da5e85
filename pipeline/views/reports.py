"""The files about something that was measured: its values, its table, and its pictures."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.dsl.errors import InputError
from components.files.text_files import is_unicode

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_output(file: Path) -> None:
    """Checks that the file of `--out` can be written, before the work for its content."""
    if not is_unicode(str(file)):
        raise InputError(f"--out must be a name in UTF-8, got {str(file)!r}")
    if not file.parent.is_dir():
        raise InputError(f"--out must be in a folder that exists, got {file}")
    if file.is_dir():
        raise InputError(f"--out must be a file, got the folder {file}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InputError(f"--out must be a file that can be written, got {file}")


def write_report(
    name: str,
    content: Mapping[str, Any],
    folder: Path,
    text: str,
    draw: Callable[[Mapping[str, Any], Path], list[Path]] | None = None,
) -> list[Path]:
    """Writes `NAME.json`, `NAME.md` and the figures; returns the files.

    `text` has the tables as Markdown; `draw` writes the pictures and gives their files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    values, table = folder / f"{name}.json", folder / f"{name}.md"
    values.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    table.write_text(text, encoding="utf-8")
    return [values, table, *([] if draw is None else draw(content, folder))]


def save_figure(figure: "Figure", folder: Path, names: Sequence[str]) -> list[Path]:
    """Writes a figure as each of some files, without a date: equal figures give equal files."""
    files = [folder / name for name in names]
    for file in files:
        figure.savefig(file, dpi=160, metadata={"Date": None} if file.suffix == ".svg" else {"Software": None})
    return files
