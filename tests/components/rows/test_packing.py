import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from components.rows.packing import join_documents, pack_rows
from components.rows.sentence_pairs import SegmentBounds

SEPARATOR = 3


def join(sizes):
    """Documents with segments of these sizes, whose tokens are numbered from 10."""
    documents, start = [], 0
    for part in sizes:
        documents.append(SegmentBounds(np.cumsum([start, *part])))
        start = int(documents[-1].bounds[-1])
    return join_documents(np.arange(10, 10 + start, dtype=np.int32), documents, SEPARATOR)


def rows_of(sizes, room, short_share=0.0, seed=0):
    stream, ends, separators = join(sizes)
    rng = np.random.default_rng(seed)
    rows = pack_rows(ends, separators, room=room, short_share=short_share, rng=rng)
    return [stream[start:end].tolist() for start, end in rows.tolist()]


def test_joined_documents():
    stream, ends, separators = join([[2, 1], [3]])
    assert stream.tolist() == [10, 11, 12, 3, 13, 14, 15, 3]
    assert ends.tolist() == [2, 3, 7]
    assert separators.tolist() == [3, 7]
    assert [len(part) for part in join([])] == [0, 0, 0]


def test_full_sentences_by_hand():
    # The third sentence does not fit the first row; a document ends inside the second one, with a separator.
    assert rows_of([[2, 2, 3], [1, 2]], 6) == [[10, 11, 12, 13], [14, 15, 16, 3, 17], [18, 19]]
    # At the end of a row the row's own [SEP] parts the documents.
    assert rows_of([[2, 2], [3]], 4) == [[10, 11, 12, 13], [14, 15, 16]]
    # There is room for the separator, but for nothing behind it.
    assert rows_of([[2, 2], [3]], 5) == [[10, 11, 12, 13], [14, 15, 16]]


def test_a_sentence_longer_than_a_row_is_cut():
    assert rows_of([[7, 2]], 3) == [[10, 11, 12], [13, 14, 15], [16, 17, 18]]


@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), max_size=5),
    st.integers(4, 30),
    st.floats(0, 1),
    st.integers(0, 1000),
)
def test_packing_loses_no_token(sizes, room, short_share, seed):
    rows = rows_of(sizes, room, short_share, seed)
    assert [token for row in rows for token in row if token != SEPARATOR] == list(range(10, 10 + sum(map(sum, sizes))))
    starts = set(np.cumsum([10, *map(sum, sizes)]).tolist())
    for row in rows:
        assert 1 <= len(row) <= room
        assert row[0] != SEPARATOR
        assert row[-1] != SEPARATOR
        for place in range(1, len(row)):
            assert (row[place] in starts) == (row[place - 1] == SEPARATOR), "just what parts documents is a separator"


def test_rows_are_as_full_as_whole_sentences_make_them():
    sizes = np.random.default_rng(0).integers(3, 30, (50, 20)).tolist()
    rows = rows_of(sizes, 126)
    assert np.mean([len(row) for row in rows]) > 108
    short = rows_of(sizes, 126, short_share=0.1)
    assert len(rows) < len(short) < 1.3 * len(rows)
