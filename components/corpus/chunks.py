"""Some megabytes of a source: what one worker cleans at a time; pure but for the file of texts that it writes."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from components.corpus.cleaning import REASONS, UNDECODABLE, Cleaning, judge, remove_controls
from components.corpus.index import MOST_ROWS, Texts, TextsWriter, as_place, hash_text
from components.sources.text import Document
from components.text.near_duplicates import Hashes, Signer
from components.text.sentences import measure_sentences

# A chunk is what one worker cleans at a time; a file of the source may have many.
CHUNK_CHARACTERS = 4_000_000
# Long enough for many sentences; a shard is to mix documents, so a book is cut.
DOCUMENT_BYTES = 65_536


class Chunk(NamedTuple):
    """Some neighbouring documents of a unit.

    Attributes:
        unit: its number.
        number: of the chunk in it.
        content: the documents, or the file that holds them where they go to another process.
    """

    unit: int
    number: int
    content: list[Document] | str


def gather(documents: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Documents in lists of about `most` characters."""
    begun: list[Document] = []
    size = 0
    for document in documents:
        begun.append(document)
        size += len(document.text)
        # A long document has a row for each piece, and a line may be as short as its end.
        if size >= most or (len(begun) + size // DOCUMENT_BYTES) * 2 >= MOST_ROWS:
            yield begun
            begun, size = [], 0
    if begun:
        yield begun


def clean_chunk(
    chunk: Chunk, documents: list[Document], cleaning: Cleaning, signer: Signer | None, scratch: str
) -> tuple[Texts, Hashes, Hashes]:
    """The texts of a chunk after cleaning, the hashes of their bands, and the places of the documents of these."""
    writer = TextsWriter(scratch)
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
        for part, (id_, piece) in enumerate([(document.id, raw)] if dropped else cut(document.id, text)):
            place = as_place(chunk.unit, chunk.number, count)
            sentences = [] if dropped else measure_sentences(piece)
            fields = {"place": place, "reason": REASONS.index(reason), "first": part == 0}
            digest = whole if piece is text else hash_text(piece)
            writer.add(id_, piece, (digest, whole), note, sentences, **fields)
            count += 1
            if signer and not dropped:
                bands.append(signer.sign(piece))
                signed.append(place)
    places = np.repeat(np.array(signed, np.uint64), signer.bands if signer else 0)
    return writer.close(), np.concatenate(bands) if bands else np.empty(0, np.uint64), places


def cut(id_: str | None, text: str, most: int = DOCUMENT_BYTES) -> Iterator[tuple[str | None, str]]:
    """(id, text) of the pieces of a document of about `most` bytes or less, cut at the ends of lines.

    Args:
        id_: of the document; the pieces of more than one are `id/0`, `id/1` and so on.
        text: of the document.
        most: bytes of a piece.
    """
    if len(text) <= most and len(text.encode()) <= most:
        yield id_, text
        return
    pieces: list[str] = []
    lines: list[str] = []
    size = 0
    for line in text.split("\n"):
        own = len(line.encode()) + 1
        if lines and size + own > most + 1:
            pieces.append("\n".join(lines))
            lines, size = [], 0
        lines.append(line)
        size += own
    pieces.append("\n".join(lines))
    for part, piece in enumerate(piece for piece in pieces if piece.strip()):
        yield id_ if id_ is None or len(pieces) == 1 else f"{id_}/{part}", piece
