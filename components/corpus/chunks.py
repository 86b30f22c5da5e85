"""Cleans a chunk, some megabytes of a source, into texts and hashes."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from components.corpus.cleaning import REASONS, UNDECODABLE, Cleaning, judge, remove_controls
from components.corpus.index import MOST_ROWS, IndexedTexts, Ints, TextsIndexer, as_place, hash_text
from components.sources.text import Document
from components.text.near_duplicates import Hashes, Signer
from components.text.sentences import measure_sentences

# The unit of work of a worker; a file of the source may have many chunks.
CHUNK_CHARACTERS = 4_000_000
# Each partition opens the file of each chunk: from 64 GB on, chunks grow instead of their number.
_MOST_CHUNKS = 16_384
# Long enough for many sentences. Books are cut, so that a shard mixes documents.
DOCUMENT_BYTES = 65_536


class Chunk(NamedTuple):
    """Consecutive documents of a unit."""

    unit: int
    number: int
    content: list[Document] | str


def chunk_size(size: int) -> int:
    """Characters of a chunk of a corpus of so many bytes; it never changes a result."""
    return max(CHUNK_CHARACTERS, size // _MOST_CHUNKS)


def gather(documents: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Groups documents into lists of about `most` characters."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        # A long document has an index row a part, and a line may be as short as its line end.
        if size >= most or (len(group) + size // DOCUMENT_BYTES) * 2 >= MOST_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def clean_chunk(
    chunk: Chunk, documents: list[Document], cleaning: Cleaning, signer: Signer | None
) -> tuple[IndexedTexts, Hashes, Ints]:
    """Cleans a chunk; returns its texts, their band hashes (bands,) and the row of the document of every hash."""
    indexer = TextsIndexer()
    bands: list[Hashes] = []
    signed: list[int] = []
    count = 0
    for document in documents:
        raw = document.text
        text = (remove_controls(raw) if cleaning.controls else raw).strip()
        whole = hash_text(text)
        dropped = (UNDECODABLE, document.problem) if document.problem else judge(text, cleaning)
        reason, detail = dropped or ("", "")
        note = {"source": document.source, "detail": detail}
        for number, (id_, part) in enumerate([(document.id, raw)] if dropped else cut(document.id, text)):
            place = as_place(chunk.unit, chunk.number, count)
            sentences = [] if dropped else measure_sentences(part)
            fields = {"place": place, "reason": REASONS.index(reason), "first": number == 0}
            indexer.add(id_, part, (whole if part is text else hash_text(part), whole), note, sentences, **fields)
            if signer and not dropped:
                bands.append(signer.sign(part))
                signed.append(count)
            count += 1
    signed_rows = np.repeat(np.array(signed, np.int64), signer.bands if signer else 0)
    return indexer.finish(), np.concatenate(bands) if bands else np.empty(0, np.uint64), signed_rows


def cut(id_: str | None, text: str, most: int = DOCUMENT_BYTES) -> Iterator[tuple[str | None, str]]:
    """Cuts a document at line ends into parts of about `most` bytes; yields (id, text).

    The ids of several parts are `id/0`, `id/1` and so on.
    """
    if len(text) <= most and len(text.encode()) <= most:
        yield id_, text
        return
    parts: list[str] = []
    lines: list[str] = []
    size = 0
    for line in text.split("\n"):
        line_size = len(line.encode()) + 1
        if lines and size + line_size > most + 1:
            parts.append("\n".join(lines))
            lines, size = [], 0
        lines.append(line)
        size += line_size
    parts.append("\n".join(lines))
    for number, part in enumerate(part for part in parts if part.strip()):
        yield id_ if id_ is None or len(parts) == 1 else f"{id_}/{number}", part
