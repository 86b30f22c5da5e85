"""Tokens against the rows that tokenizers encode."""

import numpy as np
import pytest

from keras_bert.explain.tokens import Tokens
from tests.keras_bert.interop.checkpoints import PIECES

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(PIECES, True)


@pytest.mark.parametrize("max_length", [5, 6, 9, 40])
@pytest.mark.parametrize("texts", [["Abc de fxg a"], ["abc d", "ef ga b"], ["a", "b c d e f g"], ["[SEP]a", "b"]])
def test_tokens_are_those_of_the_encoded_row(tokenizer, texts, max_length):
    row = Tokens.of(tokenizer, texts, max_length=max_length)
    encoded = tokenizer.encode(texts[:1], texts[1:] or None, max_length=max_length, pad_to_longest=True)
    assert [tokenizer.vocabulary[number] for number in np.asarray(encoded["token_ids"])[0]] == list(row.tokens)
    np.testing.assert_array_equal(row.segments, np.asarray(encoded["segment_ids"])[0])
    lengths = [len(ids) for ids in tokenizer.tokenize(texts).to_list()]
    assert sum(lengths) + tokenizer.special_count(len(texts)) == len(row.tokens) + sum(row.dropped)


def test_a_word_is_a_token_with_those_that_continue_it(tokenizer):
    row = Tokens.of(tokenizer, ["abc d", "Ef"], max_length=40)
    assert row.tokens == ("[CLS]", "a", "##b", "##c", "d", "[SEP]", "e", "##f", "[SEP]")
    assert row.words.tolist() == [-1, 0, 0, 0, 1, -1, 2, 2, -1]
    assert row.word_texts == ("abc", "d", "Ef")
    assert row.offsets.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3], [4, 5], [0, 0], [0, 1], [1, 2], [0, 0]]


def test_a_special_token_in_a_text_is_text(tokenizer):
    row = Tokens.of(tokenizer, ["[SEP]"], max_length=40)
    assert row.words.tolist()[0] == row.words.tolist()[-1] == -1
    assert min(row.words.tolist()[1:-1]) == 0


def test_a_prompt_stands_in_front(tokenizer):
    row = Tokens.of(tokenizer, ["ab"], max_length=40).behind_prompt(2)
    assert row.tokens == ("[PROMPT]", "[PROMPT]", "[CLS]", "a", "##b", "[SEP]")
    assert row.words.tolist() == [-1, -1, -1, 0, 0, -1]
    assert row.word_texts == ("ab",)
    assert len(row.segments) == len(row.offsets) == 6


def test_rows_are_one_text_or_two(tokenizer):
    with pytest.raises(ValueError, match=r"^Tokens\.texts must be one text or a pair, got 3 texts$"):
        Tokens.of(tokenizer, ["a", "b", "c"], max_length=9)
    with pytest.raises(ValueError, match="must be at least 5, got 4"):
        Tokens.of(tokenizer, ["a", "b"], max_length=4)


def test_words_have_places_in_their_texts(tokenizer):
    row = Tokens.of(tokenizer, ["abc d", " Ef"], max_length=40)
    assert row.word_offsets.tolist() == [[0, 3, 0], [4, 5, 0], [1, 3, 1]]
    assert [row.texts[text][start:end] for start, end, text in row.word_offsets] == list(row.word_texts)
    assert Tokens.of(tokenizer, [""], max_length=40).word_offsets.shape == (0, 3)


def test_parts_of_texts(tokenizer):
    row = Tokens.of(tokenizer, ["a b", "abc d ef"], max_length=40, parts=[slice(0, 1), slice(3, 5)], answer=(4, 4))
    assert row.tokens == ("[CLS]", "a", "[SEP]", "d", "e", "[SEP]")
    assert row.dropped == (1, 4)
    assert [row.characters_read(text) for text in (0, 1)] == [(0, 1), (4, 7)]
    assert row.behind_prompt(2).answer == (6, 6)
    assert Tokens.of(tokenizer, ["a b"], max_length=40).characters_read(0) == (0, 3)
