"""Links between duplicates: a worker finds the links of a range of hashes, and the plan joins them by partition."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from components.corpus.index import IndexRows
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


class Links(NamedTuple):
    """Pairs of documents with equal hashes in a file (links, 4): key and place of the later document and the first."""

    kind: str
    file: str
    partitions: int


def tabulate_hashes(hashes: Hashes, rows: IndexRows) -> Hashes:
    """A table (documents, numbers of a hash + 2) of hashes (documents, numbers) and the documents' keys and places.

    A document has no number before its partition is sorted; key and place give its place in the corpus.
    """
    return np.column_stack([hashes, rows["key"], rows["place"]])


def write_links(kind: str, table: Hashes, partitions: int, scratch: str) -> Links | None:
    """Links every document to the first one with the same hash; returns None if no hash comes twice.

    `table` has all hashes of a range, in any order, see `tabulate_hashes`. The name of the file is random because Beam
    may write the same links twice.
    """
    documents = table[:, -2:]
    repeats, firsts = find_repeats(table[:, :-2], *documents.T)
    if not len(repeats):
        return None
    file = Path(scratch) / f"{uuid.uuid4().hex}.links.npy"
    np.save(file, np.concatenate([documents[repeats], documents[firsts]], axis=1))
    return Links(kind, str(file), partitions)


def resolve_links(links: Sequence[Links], partitions: Sequence[Partition], folder: Path) -> PartitionTables:
    """The links as numbers of documents (links, 2), later and first one, by the partition of the later one.

    One partition is in memory at a time, with its links, and one file of links, which is read once.
    """
    unresolved, half_resolved, resolved = (PartitionTables(folder, width) for width in (4, 3, 2))
    for part in links:
        pairs = np.load(part.file)
        unresolved.append(partition_of(pairs[:, 0], part.partitions), pairs.view(np.int64))
    for partition in partitions:
        # Near duplicates share several bands.
        table = unique_rows(unresolved.read(partition.number).view(np.uint64))
        if not len(table):
            continue
        repeats = as_number(partition.number, locate(partition.load(), table[:, 0], table[:, 1]))
        columns = np.stack([repeats, table[:, 2].view(np.int64), table[:, 3].view(np.int64)], axis=1)
        half_resolved.append(partition_of(table[:, 2], links[0].partitions), columns)
        unresolved.drop(partition.number)
    for partition in partitions:
        table = half_resolved.read(partition.number)
        if not len(table):
            continue
        keys, places = (np.ascontiguousarray(table[:, column]).view(np.uint64) for column in (1, 2))
        firsts = as_number(partition.number, locate(partition.load(), keys, places))
        resolved.append(split_number(table[:, 0])[0], np.stack([table[:, 0], firsts], axis=1))
        half_resolved.drop(partition.number)
    return resolved
