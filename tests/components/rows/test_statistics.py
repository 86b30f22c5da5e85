import numpy as np
import pytest

from components.rows.row_layout import SpecialTokens, lay_out_pairs
from components.rows.statistics import add, describe, tally_rows
from keras_bert.masking.masks import Masked

MARKS = SpecialTokens(cls_id=2, sep_id=3, pad_id=0)


def test_a_tally_by_hand():
    flat = np.array([10, 11, 1, 13], np.int32)
    rows = lay_out_pairs(flat, np.array([[0, 1, 1, 4, 1], [0, 1, 1, 2, 0]]), 8, MARKS)
    candidates = rows.token_ids > 4
    masked = Masked(
        np.array([[2, 4, 3, 20, 1, 13, 3, 0], [2, 10, 3, 11, 3, 0, 0, 0]], np.int32),
        np.array([[1, 3], [3, 0]], np.int32),
        np.array([[10, 11], [11, 0]], np.int32),
        np.array([[1, 1], [1, 0]], np.float32),
    )
    tally = tally_rows(rows, candidates, masked, unknown_id=1, mask_id=4)
    assert tally == {
        "rows": 2,
        "tokens": 12,
        "maskable": 5,
        "unknown": 1,
        "lengths": [0, 0, 0, 0, 0, 1, 0, 1],
        "labelled_1": 1,
        "chosen": 3,
        "replaced": 1,
        "kept": 1,
        "predictions": [0, 1, 1],
    }
    described = describe("train", add([tally, tally]), "share of swapped pairs")
    assert described["train"] == {
        "rows": 4,
        "tokens": 24,
        "tokens that may be masked": 10,
        "share of unknown tokens": pytest.approx(1 / 6, abs=1e-6),
        "share of swapped pairs": 0.5,
        "share of these to predict": 0.6,
        "share of predictions under [MASK]": pytest.approx(1 / 3, abs=1e-6),
        "share of predictions under a random token": pytest.approx(1 / 3, abs=1e-6),
        "share of predictions left unchanged": pytest.approx(1 / 3, abs=1e-6),
    }
    assert described["train: predictions a row"] == [["1", 2], ["2", 2]]
    assert described["train: tokens a row"] == [["5", 2], ["6", 0], ["7", 2]]


def test_sums_of_unequal_lengths_and_of_nothing():
    assert add([{"a": [1, 2], "b": 1}, {"a": [1], "b": 2}, {"a": [0, 0, 5], "b": 3}]) == {"a": [2, 2, 5], "b": 6}
    assert add([]) == {}
