"""The lines of documents, each of which is a text of its own."""

import hashlib
from collections.abc import Iterator

from components.sources.text import TextSource


def read_lines(source: TextSource) -> Iterator[str]:
    """Yields the distinct lines of all documents, stripped of white space; the first of equal lines.

    It holds 16 bytes of each line in memory.
    """
    seen = set()
    for file in source.files():
        for document in source.documents(file):
            if document.problem is not None:
                continue
            for line in map(str.strip, document.text.split("\n")):
                key = line_digest(line)
                if line and key not in seen:
                    seen.add(key)
                    yield line


def line_digest(line: str) -> bytes:
    """Returns a 16-byte digest of a line; sorting by it is independent of the content."""
    return hashlib.blake2b(line.encode(), digest_size=16).digest()
