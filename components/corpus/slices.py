"""Files of several sections, each in slices by partition: a reader opens the file once and reads its own slices."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from components.corpus.index import Ints

_BYTES = 8


def write_slices(file: Path, sections: Sequence[tuple[bytes, Ints]]) -> None:
    """Writes sections: contents, and where in them each slice starts (partitions + 1,), in bytes.

    The file begins with the table (sections, partitions + 1) of these starts in the file.
    """
    contents = [content for content, _ in sections]
    starts = np.stack([section_starts for _, section_starts in sections]).astype(np.int64)
    starts += np.cumsum([starts.nbytes, *map(len, contents)])[:-1, None]
    with file.open("wb") as stream:
        stream.writelines([starts.tobytes(), *contents])


def read_slices(file: Path, partition: int, partitions: int, sections: int = 1) -> list[bytes]:
    """The slice of a partition of each section."""
    slices = []
    with file.open("rb") as stream:
        for section in range(sections):
            stream.seek((section * (partitions + 1) + partition) * _BYTES)
            start, stop = np.frombuffer(stream.read(2 * _BYTES), np.int64).tolist()
            stream.seek(start)
            slices.append(stream.read(stop - start))
    return slices
