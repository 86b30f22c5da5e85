"""Connected components of more links than fit into memory, by alternating large-star and small-star.

Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii, Connected Components in MapReduce and Beyond, SoCC 2014: both
operations keep components and never add a link; in O(log^2 n) rounds every document is linked to the first one of its
component alone. One partition is in memory at a time.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.corpus.index import Ints
from components.corpus.partitions import PartitionTables, split_number, unique_rows


def link_to_first(links: PartitionTables, partitions: Sequence[int], folder: Path) -> PartitionTables:
    """Links (later documents, 2) of every document with the first one of its component, by partition; consumes `links`.

    `links` are numbers of connected documents (links, 2), by the partition of the first column.
    """
    lower = links
    while True:
        both = PartitionTables(folder, 2)
        for number in partitions:
            table = _small_star(lower.read(number))
            for columns in (table, table[:, ::-1]):
                both.append(split_number(columns[:, 0])[0], columns)
            lower.drop(number)
        lower, is_done = PartitionTables(folder, 2), True
        for number in partitions:
            table, has_stars = _large_star(both.read(number))
            is_done &= has_stars
            lower.append(split_number(table[:, 0])[0], table)
            both.drop(number)
        if is_done:
            return lower


def _small_star(links: Ints) -> Ints:
    """Links every document and its lower neighbours to the lowest of these: (links, 2), the higher number first."""
    if not len(links):
        return links
    links = unique_rows(links)
    starts, group = _group(links[:, 0])
    lowest = links[starts, 1][group]
    neighbours = np.stack([links[:, 1], lowest], axis=1)[links[:, 1] != lowest]
    return np.concatenate([np.stack([links[starts, 0], links[starts, 1]], axis=1), neighbours])


def _large_star(links: Ints) -> tuple[Ints, bool]:
    """Links the higher neighbours of every document to the lowest of all; says whether there are only stars.

    `links` (links, 2) has each link in both directions.
    """
    if not len(links):
        return links, True
    links = unique_rows(links)
    starts, group = _group(links[:, 0])
    documents = links[starts, 0]
    lowest = np.minimum(documents, links[starts, 1])
    is_higher = links[:, 1] > links[:, 0]
    higher = np.bincount(group, is_higher)
    lower = np.bincount(group) - higher
    has_stars = not ((lower > 1) | ((lower > 0) & (higher > 0))).any()
    return np.stack([links[is_higher, 1], lowest[group[is_higher]]], axis=1), bool(has_stars)


def _group(column: Ints) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the groups of equal numbers of a sorted column begin, and the group of every row."""
    is_first = np.concatenate([[True], column[1:] != column[:-1]])
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1
