from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_bert.masking.masks import mask_rows, masking_vocabulary
from keras_bert.masking.row_random import RowRandom, row_keys
from keras_bert.masking.strategies import choose_spans, choose_tokens, choose_words, find_words
from keras_bert.options.pretraining import Masking

MASK = 4
REPLACEMENTS = np.arange(5, 1000, dtype=np.int32)
STRATEGIES = ("tokens", "whole_words", "spans")


def run(token_ids, candidates, masking=None, seed=0, continues=None):
    return mask_rows(
        token_ids,
        candidates,
        masking=masking or Masking(),
        mask_id=MASK,
        replacement_ids=REPLACEMENTS,
        keys=np.random.default_rng(seed).integers(0, 2**64, size=len(token_ids), dtype=np.uint64),
        continues=continues,
    )


def real_rows(count=4000, length=128, seed=0):
    """Rows like those of pairs, four in five pieces a word of their own or its beginning."""
    rng = np.random.default_rng(seed)
    token_ids = np.full((count, length), 7, np.int32)
    token_ids[:, 0], token_ids[:, -1] = 2, 3
    token_ids[np.arange(count), rng.integers(2, length - 2, count)] = 3
    return token_ids, token_ids > 4, rng.random((count, length)) < 0.2


def hidden_of(masks):
    return np.take_along_axis(masks.token_ids, masks.mask_positions, axis=1)[masks.mask_weights == 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_80_10_10_of_15_percent(strategy):
    token_ids, candidates, continues = real_rows(12000)
    masked = run(token_ids, candidates, Masking(strategy=strategy), continues=continues)
    # 15 % of 125 is 18.75: always 19 would be 15.2 %.
    assert masked.mask_weights.sum() / candidates.sum() == pytest.approx(0.15, abs=0.0002)
    hidden = hidden_of(masked)
    shares = [(hidden == MASK).mean(), ((hidden != MASK) & (hidden != 7)).mean(), (hidden == 7).mean()]
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.006)
    assert (masked.token_ids != token_ids).sum() == (hidden != 7).sum()
    drawn = hidden[(hidden != MASK) & (hidden != 7)]
    assert drawn.min() >= 5
    assert len(np.unique(drawn)) > 990


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_place_is_as_likely(strategy):
    token_ids = np.full((8000, 100), 7, np.int32)
    masked = run(token_ids, token_ids > 0, Masking(strategy=strategy), continues=token_ids < 0)
    places = np.bincount(masked.mask_positions[masked.mask_weights == 1], minlength=100)
    # About 1200 each; a span reaches the first places of a row only from there (as in SpanBERT's own code).
    low, high = (0, 100) if strategy != "spans" else (10, 90)
    assert places[low:high].min() > 1050
    assert places[low:high].max() < 1350


def test_golden_masks():
    token_ids = np.arange(10, 22, dtype=np.int32)[None]
    candidates = np.ones_like(token_ids, bool)
    candidates[0, [0, -1]] = False
    masked = run(token_ids, candidates, Masking(rate=0.3, max_predictions=5), seed=3)
    assert masked.mask_weights.tolist() == [[1, 1, 1, 0, 0]]
    assert masked.mask_positions.tolist() == [GOLDEN_POSITIONS]
    assert masked.mask_ids.tolist() == [[position + 10 if position else 0 for position in GOLDEN_POSITIONS]]


GOLDEN_POSITIONS = [2, 8, 10, 0, 0]


def test_all_masks_none_random_and_words_where_strategies_need_them():
    token_ids = np.full((3, 20), 9, np.int32)
    masked = run(token_ids, np.ones_like(token_ids, bool), Masking(rate=0.5, mask_share=1.0, random_share=0.0))
    assert (masked.token_ids == MASK).sum(axis=1).tolist() == [10, 10, 10]
    token_ids = np.full((1, 8), 9, np.int32)
    with pytest.raises(ValueError, match="continues must be given for strategy='spans', got None"):
        run(token_ids, token_ids > 0, Masking(strategy="spans"))


def test_words_of_a_row_and_one_that_does_not_fit():
    #                      [CLS]  a  b  ##b  ##b  c  [SEP]  ##d  e  ##e  [SEP]
    candidates = np.array([[0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0]], bool)
    continues = np.array([[0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0]], bool)
    words = find_words(candidates, continues)
    assert words.starts.tolist() == [1, 2, 5, 7, 8]
    assert words.sizes.tolist() == [1, 3, 1, 1, 2]
    assert words.numbers[candidates].tolist() == [0, 1, 1, 1, 2, 3, 4, 4]
    assert words.firsts.tolist() == [0, 5]
    candidates = np.ones((200, 5), bool)
    continues = np.tile([False, True, True, False, True], (200, 1))  # a word of 3 and one of 2
    chosen = choose_words(candidates, continues, np.full(200, 2), RowRandom(row_keys(0, 0, np.arange(200))))
    assert (chosen == [False, False, False, True, True]).all()
    none = choose_words(candidates, continues, np.full(200, 1), RowRandom(row_keys(0, 0, np.arange(200))))
    assert not none.any()


def test_span_lengths_are_those_of_spanbert():
    # One span a row: a budget of ten words, and only the first span of each row counts.
    candidates = np.ones((20000, 400), bool)
    budget = np.full(20000, 400)
    spans = choose_spans(candidates, ~candidates, np.minimum(budget, 10), RowRandom(row_keys(1, 0, np.arange(20000))))
    place = np.argmax(spans == 1, axis=1)
    inner = (place > 10) & (place < 380)
    sizes = (spans == 1).sum(axis=1)[inner]
    # Joshi et al. 2020, section 3.1: "This yields a mean span length of mean(l) = 3.8".
    assert sizes.mean() == pytest.approx(3.797, abs=0.05)
    shares = 0.2 * 0.8 ** np.arange(10) / (1 - 0.8**10)
    np.testing.assert_allclose(np.bincount(sizes, minlength=11)[1:] / len(sizes), shares, atol=0.012)


def test_a_span_shares_one_fate():
    token_ids, candidates, continues = real_rows()
    masking = Masking(strategy="spans")
    keys = row_keys(0, 0, np.arange(len(token_ids)))
    masked = mask_rows(
        token_ids,
        candidates,
        masking=masking,
        mask_id=MASK,
        replacement_ids=REPLACEMENTS,
        keys=keys,
        continues=continues,
    )
    chosen = np.zeros_like(candidates)
    rows, slots = np.nonzero(masked.mask_weights == 1)
    chosen[rows, masked.mask_positions[rows, slots]] = True
    # Neighbours may belong to two spans that touch; alone, one token in ten would differ from the next in three ways.
    both = chosen[:, 1:] & chosen[:, :-1]
    is_mask = masked.token_ids == MASK
    assert (is_mask[:, 1:] == is_mask[:, :-1])[both].mean() > 0.95


def test_pieces_of_a_vocabulary():
    marks = np.array([False, False, True, False, True])
    tokenizer = SimpleNamespace(vocabulary_size=5, special_ids=(0, 1), mask_id=1, word_marks=lambda: marks)
    pieces = masking_vocabulary(tokenizer)
    assert pieces.mask_id == 1
    assert pieces.is_special.tolist() == [True, True, False, False, False]
    assert pieces.continues.tolist() == [False, False, True, False, True]
    assert pieces.replacement_ids.tolist() == [2, 3, 4]


@given(
    st.sampled_from(STRATEGIES),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 25),
    st.floats(0.01, 0.99),
    st.integers(0, 2**31),
)
def test_properties(strategy, batch, length, predictions, rate, seed):
    rng = np.random.default_rng(seed)
    token_ids = rng.integers(0, 1000, (batch, length)).astype(np.int32)
    candidates = (rng.random((batch, length)) < 0.7) & (token_ids > 4)
    continues = rng.random((batch, length)) < 0.3
    masking = Masking(strategy=strategy, rate=rate, max_predictions=predictions)
    masked = run(token_ids, candidates, masking, seed, continues)
    for one, other in zip(masked, run(token_ids, candidates, masking, seed, continues), strict=True):
        np.testing.assert_array_equal(one, other)
    assert masked.mask_positions.shape == masked.mask_ids.shape == masked.mask_weights.shape == (batch, predictions)
    for row in range(batch):
        available = candidates[row].sum()
        count = int(masked.mask_weights[row].sum())
        most = min(available, predictions, max(1, np.ceil(available * rate)))
        least = min(available, predictions, max(1, np.floor(available * rate)))
        assert (least if strategy == "tokens" else 0) <= count <= most
        positions = masked.mask_positions[row, :count]
        assert candidates[row, positions].all()
        assert (np.diff(positions) > 0).all()
        assert (masked.mask_ids[row, :count] == token_ids[row, positions]).all()
        assert not masked.mask_positions[row, count:].any()
        assert not masked.mask_ids[row, count:].any()
        restored = masked.token_ids[row].copy()
        restored[positions] = masked.mask_ids[row, :count]
        assert (restored == token_ids[row]).all()
        assert not set(masked.token_ids[row, positions]) & {0, 1, 2, 3}


def words_of(candidates, continues):
    """Naively: lists of the places of each word of a row."""
    words = []
    for place, free in enumerate(candidates):
        if free and place and continues[place] and candidates[place - 1]:
            words[-1].append(place)
        elif free:
            words.append([place])
    return words


@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 20), st.integers(0, 2**31))
def test_words_and_spans_are_whole(batch, length, most, seed):
    rng = np.random.default_rng(seed)
    candidates = rng.random((batch, length)) < 0.8
    continues = rng.random((batch, length)) < 0.4
    budget = np.minimum(most, candidates.sum(axis=1))
    random = RowRandom(row_keys(seed, 0, np.arange(batch)))
    chosen = choose_words(candidates, continues, budget, random)
    spans = choose_spans(candidates, continues, budget, random)
    for row in range(batch):
        words = words_of(candidates[row], continues[row])
        for flags in (chosen[row], spans[row] > 0):
            assert flags.sum() <= budget[row]
            assert not (flags & ~candidates[row]).any()
            assert all(len({bool(flags[place]) for place in word}) == 1 for word in words)
        fits = [len(word) <= budget[row] - chosen[row].sum() for word in words if not chosen[row, word[0]]]
        assert not any(fits), "no word that fits is left out"
        assert set(spans[row]) - {0} == set(range(1, spans[row].max() + 1))
        for span in range(1, spans[row].max() + 1):
            places = np.flatnonzero(spans[row] == span)
            assert places[-1] - places[0] + 1 == len(places), "a span has no hole"
            assert sum(word[0] in places for word in words) <= 10
    chosen = choose_tokens(candidates, budget, random)
    np.testing.assert_array_equal(chosen.sum(axis=1), budget)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_row_does_not_depend_on_its_neighbours_or_its_padding(strategy):
    token_ids, candidates, continues = real_rows(60, 64)
    keys = row_keys(3, 0, np.arange(60))
    how = {"masking": Masking(strategy=strategy), "mask_id": MASK, "replacement_ids": REPLACEMENTS}
    whole = mask_rows(token_ids, candidates, keys=keys, continues=continues, **how)
    order = np.random.default_rng(1).permutation(60)[:7]
    wider = ((0, 0), (0, 136))
    part = mask_rows(
        np.pad(token_ids[order], wider),
        np.pad(candidates[order], wider),
        keys=keys[order],
        continues=np.pad(continues[order], wider),
        **how,
    )
    np.testing.assert_array_equal(part.token_ids[:, :64], whole.token_ids[order])
    for name in ("mask_positions", "mask_ids", "mask_weights"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[order])


def test_the_properties_catch_a_planted_bug(monkeypatch):
    """A strategy that forgets where words begin is found out."""
    monkeypatch.setattr(
        "keras_bert.masking.strategies.find_words",
        lambda candidates, continues: find_words(candidates, np.zeros_like(continues)),
    )
    with pytest.raises(AssertionError):
        test_words_and_spans_are_whole()
