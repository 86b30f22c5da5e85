"""First step: a source of text -> Corpus."""

import gzip
import hashlib
import json
from collections.abc import Iterator

from components.artifacts import Corpus
from components.base import InputError, Output, component, report_progress
from components.sources import DocstringCorpus, TextSource

SHARD_BYTES = 1_000_000
# A shard is to mix several documents (a negative next sentence comes from another one), so a book is cut.
DOCUMENT_BYTES = 65_536


@component()
def ingest_corpus(corpus: Output[Corpus], source: TextSource | DocstringCorpus) -> None:
    """Reads a source of text into gzip shards of JSON lines, `{"id": ..., "text": ...}`.

    Documents stand in the order of their ids, which are hashes of position and content: neighbours in a
    shard come from anywhere in the source, and the bytes do not depend on how folders are listed.

    Raises:
        InputError: the source is missing, empty or not UTF-8.
    """
    documents = sorted(
        (_identify(name, text), text) for whole, long in source.documents() for name, text in cut(whole, long)
    )
    if not documents:
        raise InputError("the corpus must hold at least one document, got only blank text")
    shards = list(pack(documents, SHARD_BYTES))
    for number, shard in enumerate(shards):
        report_progress(number, len(shards), "writing shards")
        lines = "".join(json.dumps({"id": id_, "text": text}, ensure_ascii=False) + "\n" for id_, text in shard)
        file = corpus.file(f"corpus-{number:05d}-of-{len(shards):05d}.jsonl.gz")
        file.write_bytes(gzip.compress(lines.encode(), compresslevel=6, mtime=0))
    size = sum(len(text.encode()) for _, text in documents)
    corpus.counts = {"documents": len(documents), "shards": len(shards), "bytes": size}


def cut(name: str, text: str, most: int = DOCUMENT_BYTES) -> Iterator[tuple[str, str]]:
    """Pieces of a document of about `most` bytes or less, cut at the ends of lines."""
    lines: list[str] = []
    size = part = 0
    for line in text.split("\n"):
        if lines and size + len(line.encode()) > most:
            yield f"{name}/{part}", "\n".join(lines)
            lines, size, part = [], 0, part + 1
        lines.append(line)
        size += len(line.encode()) + 1
    yield f"{name}/{part}", "\n".join(lines)


def pack(documents: list[tuple[str, str]], most: int) -> Iterator[list[tuple[str, str]]]:
    """Shards of neighbouring documents, of about equal size in bytes and of no more than about `most`."""
    sizes = [len(text.encode()) for _, text in documents]
    total = sum(sizes)
    count = min(max(1, round(total / most)), max(1, len(documents) // 2))
    shard: list[tuple[str, str]] = []
    done = made = 0
    for position, (document, size) in enumerate(zip(documents, sizes, strict=True)):
        shard.append(document)
        done += size
        enough = done * count >= total * (made + 1)
        if len(shard) >= 2 and enough and made + 1 < count and len(documents) - position > 2:
            yield shard
            shard, made = [], made + 1
    yield shard


def read_shard(content: bytes) -> list[tuple[str, str]]:
    """(id, text) of the documents of one shard."""
    # Not splitlines: it also splits at characters that JSON leaves inside a string.
    lines = gzip.decompress(content).decode().removesuffix("\n").split("\n")
    return [(record["id"], record["text"]) for record in map(json.loads, lines)]


def _identify(name: str, text: str) -> str:
    return hashlib.blake2b(f"{name}\0{text}".encode(), digest_size=8).hexdigest()
