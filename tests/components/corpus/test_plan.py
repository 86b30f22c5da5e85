import itertools

import numpy as np
import pytest

from components.corpus.chunks import Chunk, clean_chunk, cut
from components.corpus.cleaning import REASONS, Cleaning
from components.corpus.index import ROW, IndexedTexts, TextsReader, TextsWriter, as_place, hash_text
from components.corpus.plan import make_plan, pack, shard_size
from components.sources.text import Document
from components.text.near_duplicates import Signer


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("most", [1, 25, 100, 10_000])
def test_shards_hold_everything_and_at_least_two_documents(count, most):
    shards = list(pack([1 + number * 7 % 19 for number in range(count)], most))
    assert list(itertools.chain.from_iterable(shards)) == list(range(count))
    assert all(len(shard) >= 2 for shard in shards) or count == 1


def test_shards_grow_with_the_corpus():
    assert [shard_size(size * 10**6, 10**6) for size in (1, 64, 128, 256, 10_000)] == [
        1_000_000,
        1_000_000,
        2_000_000,
        4_000_000,
        4_000_000,
    ]


def test_cuts_long_documents_at_the_ends_of_lines():
    text = "\n".join(["x" * 9] * 10)
    parts = list(cut("a", text, most=30))
    assert [name for name, _ in parts] == ["a/0", "a/1", "a/2", "a/3"]
    assert "\n".join(part for _, part in parts) == text
    assert all(len(part) <= 30 for _, part in parts)
    assert list(cut("a", "x" * 100, most=30)) == [("a", "x" * 100)]
    assert [name for name, _ in cut(None, text, most=30)] == [None] * 4
    assert list(cut("a", "short")) == [("a", "short")]


def texts_of(rows):
    """Rows of (key, text, place), as a chunk has them."""
    table = np.zeros(len(rows), ROW)
    for row, (key, text, place) in zip(table, rows, strict=True):
        row["key"], row["low"], row["place"] = key, text, place
    return IndexedTexts("", table)


def reasons_of(plan):
    return {int(row["place"]): REASONS[row["reason"]] for row in plan.rows}


def test_the_smallest_id_of_a_cluster_stays_in_whatever_order_it_comes():
    # a - b - c are a chain; d is the same text as b.
    rows = [(30, 1, 0), (10, 2, 1), (20, 3, 2), (40, 2, 3)]
    pairs = [(0, 1), (2, 1), (3, 1)]
    seen = set()
    for order in itertools.permutations(range(4)):
        texts = [texts_of([rows[place]]) for place in order]
        links = [np.array([pair if order[0] % 2 else pair[::-1]], np.uint64) for pair in pairs]
        plan = make_plan(texts, links, exact=True)
        seen.add(tuple(sorted(reasons_of(plan).items())))
        assert plan.rows["key"].tolist() == [10, 20, 30, 40]
        assert plan.kept.tolist() == [-1, 0, 0, 0]
    assert seen == {((0, "near duplicate"), (1, ""), (2, "near duplicate"), (3, "exact duplicate"))}


def test_texts_come_back_in_any_order(tmp_path):
    writer = TextsWriter(str(tmp_path))
    for number in range(5):
        text = f"Text {number}\n\u00e9"
        fields = {"place": as_place(1, 0, number), "reason": 0, "first": True}
        digest = hash_text(text)
        writer.add(None, text, (digest, digest), {"source": str(number)}, [len(text)], **fields)
    file, rows = writer.close()
    order = [3, 0, 4]
    texts_read = list(TextsReader([file]).read(np.zeros(3, np.int64), rows[order]))
    assert [note for _, note in texts_read] == [b'{"source":"%d"}\n' % number for number in order]
    assert texts_read[0][0].decode().endswith('"text":"Text 3\\n\u00e9","sentences":[8]}\n')
    assert rows["sentences"].tolist() == [1] * 5


def test_a_chunk_that_is_cleaned_twice_has_the_same_rows_in_another_file(tmp_path):
    chunk = Chunk(3, 1, "")
    documents = [Document(f"a#{n}", None, f"Text {n}. And more.") for n in range(5)]
    first, second = (clean_chunk(chunk, documents, Cleaning(), Signer(0.8, 128, 5), str(tmp_path)) for _ in range(2))
    assert first[0].file != second[0].file
    assert (first[0].rows == second[0].rows).all()
    assert (first[1] == second[1]).all()
    assert first[0].rows["sentences"].tolist() == [2] * 5
    assert len(first[1]) == len(first[2]) == 5 * Signer(0.8, 128, 5).bands
