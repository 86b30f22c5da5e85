"""Arithmetic of sizes and times against numbers by hand, and what measurements make of it."""

import pytest

from plugins.search.sizes import Footprint, count_operations, predict_all, reduce_footprint, weights_bytes
from tests.plugins.search.grids import WHOLE, grid


def test_bytes_of_a_layer_and_a_table(tmp_path):
    candidates = grid(tmp_path)
    one, two = WHOLE._replace(layers=1), WHOLE._replace(layers=2)
    table = 30000 * 384
    block = 12 * 384 * 384 + (5 * 384 + 1536) * (4 + 4) + 4 * 384 * 4
    assert weights_bytes(candidates.config(one), one) == table + block
    assert weights_bytes(candidates.config(two), two) == table + 2 * block
    coarse = one._replace(recipe="weights_wi4_block32", rank=128)
    kernels = 12 * 384 * 384
    expected = kernels / 2 + kernels / 32 * 2 + (5 * 384 + 1536) * 4 + 4 * 384 * 4
    assert weights_bytes(candidates.config(coarse), coarse) == expected + 30000 * 128 + 4 * 128 * 384


def test_operations_of_narrower_blocks(tmp_path):
    candidates = grid(tmp_path)
    candidate = WHOLE._replace(layers=2, heads=6, units=768)
    assert count_operations(candidates.config(candidate), 10) == 2 * (
        10 * (4 * 384 * 192 + 2 * 384 * 768) + 2 * 100 * 192
    )


def test_lines_through_two_files_give_the_third(tmp_path):
    candidates, length = grid(tmp_path), 32

    def weigh(candidate):
        config = candidates.config(candidate)
        size = weights_bytes(config, candidate) + 20_000 + 3_000 * candidate.layers
        table = candidate.vocabulary_size * candidate.rank
        # The table of a rank deflates to another share.
        share = {384: 0.7, 128: 0.75, 64: 0.8}[candidate.rank]
        milliseconds = 0.1 + 1e-8 * count_operations(config, length)
        return Footprint(size / 1e6, (0.9 * (size - table) + share * table) / 1e6, milliseconds, share)

    measured = {one_candidate: weigh(one_candidate) for one_candidate in candidates.ends("weights_wi4")}
    predicted = predict_all(candidates, measured, length)
    assert {one_candidate.recipe for one_candidate in predicted} == {"weights_wi4"}, "of others nothing is known"
    for one_candidate in (WHOLE._replace(layers=3, vocabulary_size=4000), WHOLE._replace(heads=3, rank=64)):
        chosen = one_candidate._replace(recipe="weights_wi4")
        assert predicted[chosen] == pytest.approx(weigh(chosen))
    # Of a rank that was not measured the nearest one counts.
    assert predicted[chosen._replace(rank=128)].table_share == 0.8


def test_what_was_measured_is_believed_with_any_vocabulary(tmp_path):
    candidates = grid(tmp_path)
    predicted = predict_all(candidates, {WHOLE: Footprint(23.0, 17.0, 5.0, 0.5)}, 32)
    assert predicted[WHOLE] == Footprint(23.0, 17.0, 5.0, 0.5)
    removed = 22000 * 384 / 1e6
    assert predicted[WHOLE._replace(vocabulary_size=8000)] == Footprint(23.0 - removed, 17.0 - removed / 2, 5.0, 0.5)
    half = WHOLE._replace(vocabulary_size=8000, recipe="float16", rank=128)
    removed = 22000 * 128 * 2 / 1e6
    reduced = reduce_footprint(Footprint(9.0, 8.0, 1.0, 0.75), half, 30000)
    assert reduced == pytest.approx((9.0 - removed, 8.0 - 0.75 * removed, 1.0, 0.75))


def test_a_clock_that_runs_backwards_makes_no_candidate_faster_than_the_slowest(tmp_path):
    candidates = grid(tmp_path)
    small, large = candidates.ends("weights_wi4")
    predicted = predict_all(candidates, {small: Footprint(5.0, 4.0, 2.0), large: Footprint(20.0, 16.0, 1.0)}, 32)
    assert predicted[large._replace(layers=2)].milliseconds == 2.0
