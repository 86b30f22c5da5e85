"""The shards of a corpus: the lines that `ingest_corpus` writes, read again."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from components.artifacts.corpus import Corpus
from components.text.sentences import cut_sentences, split_sentences

# Not there where no document was cut.
CUT_DOCUMENTS = "cut_documents.json"


def read_shard(content: bytes) -> list[tuple[str, str]]:
    """(id, text) of the documents of one shard."""
    return [(record["id"], record["text"]) for record in _read_records(content)]


class ShardDocument(NamedTuple):
    """A document of a shard.

    Attributes:
        id: its own.
        sentences: of its text, without white space around them.
        whole: the same for all parts of a document that was cut, the hash of its text; None of any other.
    """

    id: str
    sentences: list[str]
    whole: str | None = None


def read_sentences(content: bytes) -> list[ShardDocument]:
    """The documents of one shard; texts that come without their sentences are split here."""
    return [
        ShardDocument(
            record["id"],
            cut_sentences(record["text"], record["sentences"])
            if "sentences" in record
            else split_sentences(record["text"]),
            record.get("whole"),
        )
        for record in _read_records(content)
    ]


def read_cut_documents(corpus: Corpus) -> dict[str, int]:
    """How many parts there are of each document that was cut, by `ShardDocument.whole`."""
    file = corpus.file(CUT_DOCUMENTS)
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _read_records(content: bytes) -> Iterator[dict[str, Any]]:
    # Not splitlines: it also splits at characters that JSON leaves inside a string.
    return map(json.loads, gzip.decompress(content).decode().removesuffix("\n").split("\n"))
