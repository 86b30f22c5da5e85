import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.config import Masking
from keras_bert.masking import mask_tokens

MASK = 4
REPLACEMENTS = np.arange(5, 1000, dtype=np.int32)


def run(token_ids, candidates, masking=None, seed=0):
    return mask_tokens(
        token_ids,
        candidates,
        masking=masking or Masking(),
        mask_id=MASK,
        replacement_ids=REPLACEMENTS,
        rng=np.random.default_rng(seed),
    )


def test_80_10_10_of_15_percent():
    token_ids = np.full((4000, 100), 7, np.int32)
    found = run(token_ids, np.ones_like(token_ids, bool))
    assert (found.mask_weights.sum(axis=1) == 15).all()
    hidden = np.take_along_axis(found.token_ids, found.mask_positions, axis=1)[found.mask_weights == 1]
    shares = [(hidden == MASK).mean(), ((hidden != MASK) & (hidden != 7)).mean(), (hidden == 7).mean()]
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.006)
    assert (found.token_ids != 7).sum() == (hidden != 7).sum()
    drawn = hidden[(hidden != MASK) & (hidden != 7)]
    assert drawn.min() >= 5
    assert len(np.unique(drawn)) > 900
    places = np.bincount(found.mask_positions[found.mask_weights == 1], minlength=100)
    assert places.min() > 450  # every position is chosen about 600 times
    assert places.max() < 750


def test_golden():
    token_ids = np.arange(10, 22, dtype=np.int32)[None]
    candidates = np.ones_like(token_ids, bool)
    candidates[0, [0, -1]] = False
    found = run(token_ids, candidates, Masking(rate=0.3, max_predictions=5), seed=3)
    assert found.mask_weights.tolist() == [[1, 1, 1, 0, 0]]
    assert found.mask_positions.tolist() == [GOLDEN_POSITIONS]
    assert found.mask_ids.tolist() == [[position + 10 if position else 0 for position in GOLDEN_POSITIONS]]


GOLDEN_POSITIONS = [4, 7, 9, 0, 0]


def test_all_mask_no_random():
    token_ids = np.full((3, 20), 9, np.int32)
    found = run(token_ids, np.ones_like(token_ids, bool), Masking(rate=0.5, mask_share=1.0, random_share=0.0))
    assert (found.token_ids == MASK).sum(axis=1).tolist() == [10, 10, 10]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 25), st.floats(0.01, 0.99), st.integers(0, 2**31))
def test_properties(batch, length, predictions, rate, seed):
    rng = np.random.default_rng(seed)
    token_ids = rng.integers(0, 1000, (batch, length)).astype(np.int32)
    candidates = (rng.random((batch, length)) < 0.7) & (token_ids > 4)
    found = run(token_ids, candidates, Masking(rate=rate, max_predictions=predictions), seed)
    again = run(token_ids, candidates, Masking(rate=rate, max_predictions=predictions), seed)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found.mask_positions.shape == found.mask_ids.shape == found.mask_weights.shape == (batch, predictions)
    available = candidates.sum(axis=1)
    np.testing.assert_array_equal(
        found.mask_weights.sum(axis=1),
        np.minimum(available, np.clip(np.rint(available * rate), 1, min(predictions, length))),
    )
    for row in range(batch):
        count = int(found.mask_weights[row].sum())
        positions = found.mask_positions[row, :count]
        assert candidates[row, positions].all()
        assert (np.diff(positions) > 0).all()
        assert (found.mask_ids[row, :count] == token_ids[row, positions]).all()
        assert not found.mask_positions[row, count:].any()
        assert not found.mask_ids[row, count:].any()
        untouched = np.setdiff1d(np.arange(length), positions)
        assert (found.token_ids[row, untouched] == token_ids[row, untouched]).all()
        assert not np.isin(found.token_ids[row, positions], [0, 1, 2, 3]).any()
