"""The lines of documents, each of which is a text of its own."""

import hashlib
from collections.abc import Iterator

from components.sources.text import TextSource


def read_lines(source: TextSource) -> Iterator[str]:
    """Each line of each document, without the white space around it; of equal ones the first.

    In memory are but 16 bytes of a line.
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
