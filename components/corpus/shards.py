"""Reads the shards that `ingest_corpus` writes."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.standard import Corpus
from components.text.sentences import cut_sentences, split_sentences
from keras_bert.core.folders import replaced_file

# Missing if no document was cut.
CUT_DOCUMENTS = "cut_documents.json"


def read_shard(content: bytes) -> list[tuple[str, str]]:
    """The documents (id, text) of a shard."""
    return [(record["id"], record["text"]) for record in parse_shard(content)]


class ShardDocument(NamedTuple):
    """A document of a shard; `whole` is the hash of the text of the cut document that it is a part of, else None."""

    id: str
    sentences: list[str]
    whole: str | None = None


def read_sentences(content: bytes) -> list[ShardDocument]:
    """The documents of a shard; texts that were stored without sentence lengths are split here."""
    return [
        ShardDocument(
            record["id"],
            cut_sentences(record["text"], record["sentences"])
            if "sentences" in record
            else split_sentences(record["text"]),
            record.get("whole"),
        )
        for record in parse_shard(content)
    ]


class CutDocuments:
    """Number of parts of the documents that were cut, by `ShardDocument.whole`: sorted pairs, a line at a time.

    A corpus without cut documents has no file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def __iter__(self) -> Iterator[tuple[str, int]]:
        if not self._file.exists():
            return
        with self._file.open() as lines:
            for line in lines:
                if ":" in line:
                    whole, count = line.split(":")
                    yield json.loads(whole), int(count.rstrip(",\n"))


def read_cut_documents(corpus: Corpus) -> CutDocuments:
    """The cut documents of a corpus; memory does not grow with their number."""
    return CutDocuments(corpus.file(CUT_DOCUMENTS))


def write_cut_documents(file: Path, parts: Iterable[tuple[str, int]]) -> None:
    """Writes sorted pairs (`ShardDocument.whole`, number of parts) as a JSON object of a line a pair; none, no file."""
    pairs = iter(parts)
    first = next(pairs, None)
    if first is None:
        return
    with replaced_file(file) as unfinished, unfinished.open("w") as stream:
        stream.write(f'{{\n "{first[0]}": {first[1]}')
        stream.writelines(f',\n "{whole}": {count}' for whole, count in pairs)
        stream.write("\n}\n")


def parse_shard(content: bytes) -> Iterator[dict[str, Any]]:
    """The records of a shard, as `ingest_corpus` describes them."""
    # Not splitlines, which also splits at characters that JSON strings may contain.
    return map(json.loads, gzip.decompress(content).decode().removesuffix("\n").split("\n"))
