"""Words in the places of others: which, where, and that it is always the same."""

import numpy as np
import pytest

from keras_bert.data.replaced_words import WordReplacer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

PIECES = [*SPECIAL_TOKENS, "cow", "hen", "owl", "oak", "fir", "elm", "##s", ".", "3"]
TOKENIZER = Tokenizer(PIECES, lowercase=True)
# Animals point one way, plants another.
TABLE = np.random.default_rng(0).normal(0, 0.05, (len(PIECES), 4)).astype("float32")
TABLE[5:8, 0] += 1
TABLE[8:11, 1] += 1


def encode(*texts):
    return {name: value.numpy() for name, value in TOKENIZER.encode(list(texts), max_length=12).items()}


def replacer(**settings):
    return WordReplacer(TOKENIZER, TABLE, **{"replaced": 1.0, "candidates": 2, "seed": 0, **settings})


def pieces(ids):
    return [[PIECES[number] for number in row if number] for row in ids]


def test_whole_words_give_way_to_their_neighbours_and_nothing_else_does():
    rows = encode("cow oaks fir. 3", "hen hen owl")
    one_replaced = pieces(replacer()(rows, np.arange(2), 1))
    first, second = one_replaced
    assert first[1] in ("hen", "owl")
    # A word of several pieces, signs and numbers stay.
    assert first[2:4] == ["oak", "##s"]
    assert first[4] in ("oak", "elm")
    assert first[5:] == [".", "3", "[SEP]"]
    assert all(word in ("cow", "hen", "owl") for word in second[1:-1])
    assert second[1] != "hen"
    assert second[3] != "owl"


def test_a_share_of_the_words_is_replaced_by_each_candidate_as_often():
    rows = encode(*["cow hen owl oak fir elm"] * 400)
    ids = rows["token_ids"]
    changed = replacer(replaced=0.4)(rows, np.arange(400), 1) != ids
    assert changed[:, 1:7].mean() == pytest.approx(0.4, abs=0.03)
    assert not changed[:, [0, 7, 8]].any()
    rows = encode(*["cow"] * 600)
    ids = replacer()(rows, np.arange(600), 1)[:, 1]
    counts = np.bincount(ids, minlength=len(PIECES))
    assert counts[5] == 0
    assert abs(int(counts[6]) - int(counts[7])) < 100
    np.testing.assert_array_equal(replacer()(encode("3 ."), np.arange(1), 1), encode("3 .")["token_ids"])


def test_a_row_and_a_copy_decide_whatever_stands_around():
    rows = encode("cow hen owl", "oak fir elm", "hen hen hen")
    whole = replacer()(rows, np.arange(3), 1)
    alone = replacer()({name: value[1:2] for name, value in rows.items()}, np.array([1]), 1)
    np.testing.assert_array_equal(whole[1:2], alone)
    assert (whole != replacer()(rows, np.arange(3), 2)).any()
    assert (whole != replacer(seed=1)(rows, np.arange(3), 1)).any()


def test_a_model_that_fills_blanks_says_what_could_stand_there():
    seen = []

    def guess(inputs, places):
        seen.append((inputs["token_ids"].copy(), places))
        logits = np.zeros((*places.shape, len(PIECES)), np.float32)
        logits[..., PIECES.index("elm")] = 2.0
        logits[..., PIECES.index("cow")] = 1.0
        logits[..., PIECES.index("[SEP]")] = 9.0
        return logits

    rows = encode("cow oaks fir", "3")
    one_replaced = pieces(replacer(candidates=1, guess=guess)(rows, np.arange(2), 1))
    assert one_replaced == [["[CLS]", "elm", "oak", "##s", "elm", "[SEP]"], ["[CLS]", "3", "[SEP]"]]
    ((hidden, places),) = seen
    assert pieces(hidden)[0] == ["[CLS]", "[MASK]", "oak", "##s", "[MASK]", "[SEP]"]
    np.testing.assert_array_equal(places, [[1, 4], [-1, -1]])
