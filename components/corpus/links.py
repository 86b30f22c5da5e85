"""Links between duplicates: a worker finds those of a range of hashes, the plan joins them by partition."""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.corpus.index import IndexRows, Ints
from components.corpus.partitions import (
    Partition,
    PartitionTables,
    as_number,
    locate,
    partition_of,
    split_number,
    unique_rows,
)
from components.text.near_duplicates import Hashes, find_repeats

# A document as long as its partition is not sorted: its key and its place, which give its place in the corpus.
DOCUMENT = np.dtype([("key", "u8"), ("place", "u8")])
_LINK = np.dtype([("repeat", DOCUMENT), ("first", DOCUMENT)])


class HashedDocuments(NamedTuple):
    """Hashes of documents.

    Attributes:
        hashes: (documents, numbers of a hash).
        documents: (documents,) of type `DOCUMENT`.
    """

    hashes: Hashes
    documents: NDArray[np.void]


class Links(NamedTuple):
    """Pairs of documents with equal hashes in a file, sorted by the partition of the later document.

    Attributes:
        starts: (partitions + 1,) where the links of each partition begin.
    """

    kind: str
    file: str
    starts: Ints


def as_documents(rows: IndexRows) -> NDArray[np.void]:
    """The keys and places (documents,) of index rows."""
    documents = np.empty(len(rows), DOCUMENT)
    documents["key"], documents["place"] = rows["key"], rows["place"]
    return documents


def write_links(kind: str, parts: Iterable[HashedDocuments], partitions: int, scratch: str) -> Links | None:
    """Links every document to the first one with the same hash; returns None if no hash comes twice.

    `parts` are all hashes of a range, in any order. The name of the file is random because Beam may write the same
    links twice.
    """
    hashes, documents = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    repeats, firsts = find_repeats(hashes, documents["key"], documents["place"])
    if not len(repeats):
        return None
    links = np.empty(len(repeats), _LINK)
    links["repeat"], links["first"] = documents[repeats], documents[firsts]
    links = links[np.argsort(links["repeat"]["key"], kind="stable")]
    file = Path(scratch) / f"{uuid.uuid4().hex}.links.npy"
    np.save(file, links)
    numbers = partition_of(links["repeat"]["key"], partitions)
    return Links(kind, str(file), np.searchsorted(numbers, np.arange(partitions + 1)))


def resolve_links(links: Sequence[Links], partitions: Sequence[Partition], folder: Path) -> PartitionTables:
    """The links as numbers of documents (links, 2), later and first one, by the partition of the later one.

    One partition is in memory at a time, with its links.
    """
    count = len(links[0].starts) - 1 if links else 0
    half_resolved, resolved = PartitionTables(folder, 3), PartitionTables(folder, 2)
    for partition in partitions:
        number = partition.number
        parts = [np.load(part.file, mmap_mode="r")[part.starts[number] : part.starts[number + 1]] for part in links]
        # Near duplicates share several bands.
        if not sum(map(len, parts)):
            continue
        table = unique_rows(np.concatenate(parts).view(np.uint64).reshape(-1, 4))
        repeats = as_number(number, locate(partition.load(), table[:, 0], table[:, 1]))
        columns = np.stack([repeats, table[:, 2].view(np.int64), table[:, 3].view(np.int64)], axis=1)
        half_resolved.append(partition_of(table[:, 2], count), columns)
    for partition in partitions:
        table = half_resolved.read(partition.number)
        if not len(table):
            continue
        keys, places = (np.ascontiguousarray(table[:, column]).view(np.uint64) for column in (1, 2))
        firsts = as_number(partition.number, locate(partition.load(), keys, places))
        resolved.append(split_number(table[:, 0])[0], np.stack([table[:, 0], firsts], axis=1))
        half_resolved.drop(partition.number)
    return resolved
