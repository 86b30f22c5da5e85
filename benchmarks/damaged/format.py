"""A file format: how a small good file of it is made, and what reads it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

# Where a damaged file lies, and what is read with it: enough of a name for what concerns a tensor, or several files,
# of which any may be the one that changed.
FOLDER = "/damaged"


@dataclasses.dataclass(frozen=True)
class Format:
    """One file that is damaged.

    Attributes:
        file: its name in the folder.
        make: writes it, and what is read with it, into an empty folder; the same bytes each time.
        read: reads it as the pipeline does, given the folder.
        refusals: what the reader says of damage, as its docstring has it.
        named: what a refusal has to name; the file where it is None, and nothing in particular where it is empty, as of
            settings, whose keys stand in one file alone.
    """

    file: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...]
    named: str | None = None
