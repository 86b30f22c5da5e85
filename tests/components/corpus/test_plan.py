import itertools
import resource
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.corpus import clusters
from components.corpus.cleaning import REASONS
from components.corpus.clusters import link_to_first
from components.corpus.index import ROW
from components.corpus.links import tabulate_hashes, write_links
from components.corpus.partitions import (
    NOBODY,
    PARTITION_ROW,
    PartitionTables,
    as_number,
    partition_of,
    split_number,
    write_partition,
)
from components.corpus.plan import EXACT, NEAR, CorpusTally, make_plan, pack, shard_size
from components.text.near_duplicates import find_clusters


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("most", [1, 25, 100, 10_000])
def test_shards_hold_everything_and_at_least_two_documents(count, most):
    sizes = [1 + number * 7 % 19 for number in range(count)]
    ends = list(pack(iter(sizes), count, sum(sizes), most))
    assert ends[-1] == count
    assert all(end - start >= 2 for start, end in itertools.pairwise([0, *ends])) or count == 1


def test_shards_grow_with_the_corpus():
    assert [shard_size(size * 10**6, 10**6) for size in (1, 64, 128, 256, 10_000)] == [
        1_000_000,
        1_000_000,
        2_000_000,
        4_000_000,
        4_000_000,
    ]


def partitions_of(rows, count, folder):
    """Partitions of rows of (key, text, place), as the chunks of a source give them."""
    table = index_of(rows)
    numbers = partition_of(table["key"], count)
    return [
        write_partition(
            number,
            [b""] * sum(numbers == number),
            np.split(table[numbers == number], sum(numbers == number)),
            str(folder),
        )
        for number in np.unique(numbers).tolist()
    ]


def index_of(rows):
    table = np.zeros(len(rows), ROW)
    for row, (key, text, place) in zip(table, rows, strict=True):
        row["key"], row["low"], row["place"] = key, text, place
    return table


def links_of(kind, groups, rows, count, folder):
    """Links between documents, by groups of places that share a hash."""
    row_of = {place: (key, text, place) for key, text, place in rows}
    hashes = np.repeat(np.arange(len(groups), dtype=np.uint64), [len(group) for group in groups])
    index = index_of([row_of[place] for group in groups for place in group])
    return write_links(kind, tabulate_hashes(hashes, index), count, str(folder))


def rows_of(plan):
    return np.concatenate([np.load(partition.rows) for partition in plan.partitions])


@pytest.mark.parametrize("count", [1, 3, 1024])
def test_the_smallest_id_of_a_cluster_stays_in_whatever_order_it_comes(count, tmp_path):
    # a - b - c are a chain; d is the same text as b.
    keys = [number << 61 for number in (3, 1, 2, 4)]
    rows = list(zip(keys, (1, 2, 3, 2), range(4), strict=True))
    seen = set()
    for order in itertools.permutations(range(4)):
        ordered = [rows[place] for place in order]
        near = links_of(NEAR, [(0, 1), (2, 1), (3, 1)], ordered, count, tmp_path)
        exact = links_of(EXACT, [(1, 3)], ordered, count, tmp_path)
        partitions = partitions_of(ordered, count, tmp_path)
        plan = make_plan(partitions[:: 1 if order[0] else -1], [exact, near], str(tmp_path))
        planned = rows_of(plan)
        first = as_number(plan.partitions[0].number, 0)
        assert planned["key"].tolist() == sorted(keys)
        assert planned["kept"].tolist() == [NOBODY, first, first, first]
        seen.add(tuple((int(row["place"]), REASONS[row["reason"]]) for row in planned))
    assert seen == {((1, ""), (2, "near duplicate"), (0, "near duplicate"), (3, "exact duplicate"))}


@pytest.mark.parametrize("count", [1, 2, 7])
def test_documents_with_one_key_are_told_apart_by_their_places(count, tmp_path):
    rows = [(5, 0, place) for place in range(9)] + [(1 << 63, 0, 9)]
    near = links_of(NEAR, [(9, 4), (7, 4)], rows, count, tmp_path)
    planned = rows_of(make_plan(partitions_of(rows, count, tmp_path), [near], str(tmp_path)))
    assert planned["place"][planned["kept"] != NOBODY].tolist() == [7, 9]
    assert planned["kept"][planned["kept"] != NOBODY].tolist() == [4, 4]


def test_a_plan_of_many_partitions_and_files_of_links_holds_few_files_open(tmp_path):
    rows = [(number << 54, 0, number) for number in range(150)]
    links = [links_of(NEAR, [(number, number - 1)], rows, 1024, tmp_path) for number in range(1, 150)]
    partitions = partitions_of(rows, 1024, tmp_path)
    assert len(partitions) == 150
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (psutil.Process().num_fds() + 20, limits[1]))
    try:
        plan = make_plan(partitions, links, str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert rows_of(plan)["kept"].tolist() == [NOBODY] + [as_number(0, 0)] * 149


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60), st.integers(1, 9))
def test_components_are_those_of_scipy(pairs, count):
    pairs = [(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]]
    expected = find_clusters(30, np.array(pairs, int).reshape(-1, 2))
    numbers = np.array([as_number(item * count // 30, item) for item in range(30)])
    with tempfile.TemporaryDirectory() as folder:
        links = PartitionTables(Path(folder), 2)
        table = numbers[np.array(pairs, int).reshape(-1, 2)]
        links.append(split_number(table[:, 0])[0], table)
        stars = link_to_first(links, range(count), Path(folder))
        first = numbers.copy()
        for number in range(count):
            for item, root in stars.read(number):
                first[split_number(item)[1]] = root
    assert first.tolist() == numbers[expected].tolist()


def test_a_chain_of_a_thousand_documents_needs_few_rounds(tmp_path, monkeypatch):
    links = PartitionTables(tmp_path, 2)
    numbers = np.array([as_number(item * 8 // 1000, item) for item in range(1000)])
    table = np.stack([numbers[1:], numbers[:-1]], axis=1)
    links.append(split_number(table[:, 0])[0], table)
    rounds, large_star = [], clusters._large_star
    monkeypatch.setattr(clusters, "_large_star", lambda part: rounds.append(len(part)) or large_star(part))
    stars = link_to_first(links, range(8), tmp_path)
    assert all((stars.read(number)[:, 1] == numbers[0]).all() for number in range(8))
    assert sum(len(stars.read(number)) for number in range(8)) == 999
    assert len(rounds) <= 8 * 12
    stars.flush()
    assert len(list(tmp_path.iterdir())) == 8, "tables of earlier rounds are deleted"


def test_rows_of_a_table_wait_for_others(tmp_path, monkeypatch):
    tables = PartitionTables(tmp_path, 1)
    for row in range(100):
        tables.append(np.array([row % 2]), np.array([[row]]))
    assert list(tmp_path.iterdir()) == [], "a hundred tables open no file"
    monkeypatch.setattr("components.corpus.partitions._WAITING_BYTES", 0)
    tables.append(np.array([0]), np.array([[100]]))
    assert len(list(tmp_path.iterdir())) == 2
    assert [tables.read(number)[:, 0].tolist() for number in (0, 1, 2)] == [
        list(range(0, 101, 2)),
        list(range(1, 100, 2)),
        [],
    ]


@settings(max_examples=40)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=40))
def test_quantiles_are_those_of_numpy(sizes):
    rows = np.zeros(len(sizes), PARTITION_ROW)
    rows["bytes"] = sizes
    tally = CorpusTally()
    for part in np.array_split(rows, 3):
        tally.add(part)
    expected = [int(np.quantile(rows["bytes"], share)) for share in (0, 0.1, 0.5, 0.9, 1)]
    assert list(tally.describe(1)["bytes a document"].values()) == expected
