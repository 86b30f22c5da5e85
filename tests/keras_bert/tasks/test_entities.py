import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.tasks.entities import Entity, are_entity_tags, decode
from keras_bert.tasks.word_rows import Words, pack_words, split_words


def test_entities_stand_in_the_text_and_other_tags_mark_none():
    text = "Zoé Lee, Paris"
    tags, shares = ["I-person", "I-person", "O", "B-place"], np.array([0.5, 0.75, 1.0, 0.9])
    assert decode(text, tags, shares, np.array([0, 4, 7, 9]), np.array([3, 7, 8, 14])) == [
        Entity("person", "Zoé Lee", 0, 7, 0.625),
        Entity("place", "Paris", 9, 14, 0.9),
    ]
    assert are_entity_tags(["0", "B-person", "I-person", "X", "[SEP]"])
    tags = ["B-person", "X", "0", "[SEP]", "I-person"]
    assert decode("a b c d e", tags, np.ones(5), np.arange(0, 10, 2), np.arange(1, 11, 2)) == [
        Entity("person", "a", 0, 1, 1.0),
        Entity("person", "e", 8, 9, 1.0),
    ]


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("Zoe\u0301\u0323", 3),
        ("\u0935\u093f\u0937\u094d\u0923\u0941", 5),  # Vishnu, which ends with a vowel sign
        ("\u0e2d\u0e35", 1),  # a vowel above its letter, in Thai
        ("\u2764\ufe0f", 1),  # a variation selector
    ],
)
def test_an_entity_ends_with_the_marks_of_its_last_letter(name, covered):
    text = f"{name}!"
    assert decode(text, ["B-person"], np.ones(1), np.array([0]), np.array([covered])) == [
        Entity("person", name, 0, len(name), 1.0)
    ]


def make_words(sentences):
    """Numbers the pieces 10, 11, ...; `sentences` has the size of each word."""
    sizes = np.array([size for sentence in sentences for size in sentence], "int64")
    return Words(np.arange(10, 10 + sizes.sum()), sizes, np.cumsum([0, *map(len, sentences)]))


@pytest.mark.parametrize(
    ("sizes", "room", "overlap", "runs"),
    [
        ([1, 1, 1], 3, 0, [(0, 3)]),
        ([1, 1, 1, 1], 3, 0, [(0, 3), (3, 4)]),
        ([1, 1, 1, 1, 1], 3, 1, [(0, 3), (2, 5)]),
        ([1, 3, 1, 1], 3, 2, [(0, 1), (1, 2), (2, 4)]),
        ([2, 2, 2], 5, 2, [(0, 2), (1, 3)]),
        ([1, 0, 0, 1], 2, 0, [(0, 4)]),
        ([], 3, 0, [(0, 0)]),
    ],
)
def test_split_words(sizes, room, overlap, runs):
    assert split_words(sizes, room, overlap) == runs


@settings(max_examples=200)
@given(st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=5), st.integers(1, 8), st.integers(0, 8))
def test_every_word_begins_in_a_row(sentences, room, overlap):
    words = make_words(sentences)
    rows = pack_words(words, room, overlap)
    assert rows.lengths.max(initial=0) <= room
    assert set(rows.word) == set(np.flatnonzero(words.sizes))
    firsts = words.ids[(np.cumsum(words.sizes) - words.sizes)[rows.word]]
    np.testing.assert_array_equal(rows.token_ids[rows.row, rows.column], firsts)
    assert (rows.column < rows.lengths[rows.row]).all()
    sentence = np.searchsorted(words.splits, np.arange(len(words.sizes)), side="right")
    for row in range(len(rows.lengths)):
        assert len(set(sentence[rows.word[rows.row == row]])) == 1
    if overlap == 0:
        assert rows.word.tolist() == np.flatnonzero(words.sizes).tolist()
        assert rows.lengths.sum() == np.minimum(words.sizes, room).sum()
    assert rows.word[rows.most_central()].tolist() == np.flatnonzero(words.sizes).tolist()


def test_inputs_long_words_and_the_most_central_place():
    rows = pack_words(make_words([[1, 2], [], [0], [1]]), room=4)
    inputs = rows.model_inputs(cls_id=2, sep_id=3, pad_id=7)
    assert inputs["token_ids"].tolist() == [[2, 10, 11, 12, 3], [2, 13, 3, 7, 7]]
    assert inputs["padding_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert not inputs["segment_ids"].any()
    assert {array.dtype.name for array in inputs.values()} == {"int32"}
    rows = pack_words(make_words([[1, 9, 1]]), room=3)
    assert rows.token_ids.tolist() == [[10, 0, 0], [11, 12, 13], [20, 0, 0]]
    rows = pack_words(make_words([[1] * 8]), room=5, overlap=3)
    assert rows.token_ids.tolist() == [[10, 11, 12, 13, 14], [12, 13, 14, 15, 16], [14, 15, 16, 17, 0]]
    best = rows.most_central()
    assert rows.row[best].tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
