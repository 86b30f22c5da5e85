import numpy as np
import pytest

from keras_bert.families.bigbird.layers import PLANNED_LENGTHS, draw_blocks, draw_planned_blocks
from tests.keras_bert.interop.checkpoints import GOLDEN

TABLES = dict(np.load(GOLDEN / "random_blocks.npz"))


@pytest.mark.parametrize("case", TABLES)
def test_as_transformers_draws_them(case):
    tokens, positions, size, count, heads, seed = map(int, case.split("-"))
    if tokens in PLANNED_LENGTHS:
        blocks = draw_planned_blocks(positions, size, heads, count, seed)[:, : tokens // size - 2]
    else:
        blocks = draw_blocks(tokens // size, heads, count, seed)
    np.testing.assert_array_equal(blocks, TABLES[case])


def test_the_rows_of_a_shorter_text_are_the_first_of_a_longer_one():
    np.testing.assert_array_equal(draw_blocks(12, 2, 2, 3), draw_blocks(20, 2, 2, 3)[:, :10])


def test_no_random_blocks():
    assert draw_blocks(9, 2, 0, 0).shape == (2, 7, 0)


def test_blocks_too_large_to_draw_from():
    with pytest.raises(ValueError, match=r"BigBird.block_size must leave 3 blocks to draw from .*, got 256"):
        draw_planned_blocks(4096, 256, 1, 3, 0)
