import numpy as np

from components.rows.row_layout import SpecialTokens, lay_out_pairs, lay_out_texts

MARKS = SpecialTokens(cls_id=2, sep_id=3, pad_id=0)
FLAT = np.arange(10, 30, dtype=np.int32)


def test_layout_of_pairs():
    rows = lay_out_pairs(FLAT, np.array([[0, 2, 2, 5, 0], [18, 20, 0, 1, 1], [4, 5, 6, 7, 0]]), 8, MARKS)
    assert rows.token_ids.tolist() == [
        [2, 10, 11, 3, 12, 13, 14, 3],
        [2, 28, 29, 3, 10, 3, 0, 0],
        [2, 14, 3, 16, 3, 0, 0, 0],
    ]
    inside = np.arange(8) < rows.lengths[:, None]
    assert (rows.segment_ids * inside).tolist() == [
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 0, 0, 0],
    ]
    assert rows.lengths.tolist() == [8, 6, 5]
    assert rows.labels is not None
    assert rows.labels.tolist() == [0, 1, 0]
    assert (rows.token_ids.dtype, rows.segment_ids.dtype) == (np.int32, np.int32)


def test_layout_of_single_texts():
    rows = lay_out_texts(FLAT, np.array([[0, 3], [19, 20]]), 5, MARKS)
    assert rows.token_ids.tolist() == [[2, 10, 11, 12, 3], [2, 29, 3, 0, 0]]
    assert not rows.segment_ids.any()
    assert rows.lengths.tolist() == [5, 3]
    assert rows.labels is None
