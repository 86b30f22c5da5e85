"""A file format: writes a small valid file, and reads it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

# The folder of a corrupted file: enough in a message about a tensor, or about several files, any of which may be the
# corrupted one.
FOLDER = "/corrupted"


@dataclasses.dataclass(frozen=True)
class Format:
    """A file that is corrupted.

    Attributes:
        file: its name in the folder, or a pattern.
        write: writes it, and the files that are read with it, into an empty folder; always the same bytes.
        read: reads it as the pipeline does, from the folder.
        refusals: exceptions that the reader documents for an invalid file.
        mentions: text that the message must contain; None for the name of the file. Empty for settings: their keys are
            enough, as they stand in one file.
    """

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...]
    mentions: str | None = None
