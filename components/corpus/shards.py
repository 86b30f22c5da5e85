"""Reads the shards that `ingest_corpus` writes."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from components.artifacts.standard import Corpus
from components.text.sentences import cut_sentences, split_sentences

# Missing if no document was cut.
CUT_DOCUMENTS = "cut_documents.json"


def read_shard(content: bytes) -> list[tuple[str, str]]:
    """The documents (id, text) of a shard."""
    return [(record["id"], record["text"]) for record in read_records(content)]


class ShardDocument(NamedTuple):
    """A document of a shard.

    Attributes:
        sentences: the sentences of its text, stripped of white space.
        whole: the hash of the text of the cut document that this is a part of; None for an uncut document.
    """

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
        for record in read_records(content)
    ]


def read_cut_documents(corpus: Corpus) -> dict[str, int]:
    """Number of parts of the documents that were cut, keyed as `ShardDocument.whole`."""
    file = corpus.file(CUT_DOCUMENTS)
    return dict(json.loads(file.read_text())) if file.exists() else {}


def read_records(content: bytes) -> Iterator[dict[str, Any]]:
    """The records of a shard, as `ingest_corpus` describes them."""
    # Not splitlines, which also splits at characters that JSON strings may contain.
    return map(json.loads, gzip.decompress(content).decode().removesuffix("\n").split("\n"))
