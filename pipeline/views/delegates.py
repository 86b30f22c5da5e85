"""The operations of a `.tflite` file that the delegates of phones take and leave, as a table or as JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.dsl.errors import InputError
from pipeline.views.terminal import cells


def read_delegates(file: Path) -> dict[str, dict[str, Any]]:
    """Returns the operations by delegate, see `keras_bert.export.delegates.check_delegates`.

    Raises:
        InputError: the file is not a `.tflite` file, or its model is not the one that was exported.
    """
    from keras_bert.export.attachments import check_integrity
    from keras_bert.export.delegates import check_delegates

    if file.suffix != ".tflite":
        raise InputError(f"--delegates needs a .tflite file, got {file}")
    try:
        check_integrity(file)
        return {name: coverage._asdict() for name, coverage in check_delegates(file).items()}
    except ValueError as error:
        raise InputError(str(error)) from None


def show_delegates(delegates: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    """Prints the share and the partitions of each delegate, and what it leaves to the processor."""
    table = Table("delegate", "takes", "parts", "left to the processor")
    for name, coverage in delegates.items():
        left = "\n".join(f"{count} {reason}" for reason, count in coverage["left"].items())
        share = f"{sum(coverage['taken'].values())} of {coverage['operations']}"
        table.add_row(*cells(name, share, str(coverage["partitions"]), left))
    console.print(table)
