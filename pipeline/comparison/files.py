"""The files of a comparison: its values, its table, and its losses as a picture."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.views.comparison import render_comparison
from pipeline.views.loss_plot import draw_losses


def write_comparison(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes `comparison.json`, `comparison.md` and, where there was pre-training, the plot; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    values, table = folder / "comparison.json", folder / "comparison.md"
    values.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    table.write_text(render_comparison(content), encoding="utf-8")
    return [values, table, *draw_losses(content, folder)]
