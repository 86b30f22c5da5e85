"""Tokenizers in NumPy give the rows of those in TensorFlow."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tokenizers

from keras_bert.tokenizers.base import count_kept_tokens
from keras_bert.tokenizers.loading import load_eager_tokenizer, load_tokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.clients.fuzz import PIECES, make_strings
from tests.golden.hard_texts import LONG, VOCABULARY, WORDS
from tests.keras_bert.tokenizers import subwords


def both(tokenizer, folder):
    tokenizer.save(folder)
    return load_tokenizer(folder), load_eager_tokenizer(folder)


def assert_same_rows(one, other, texts):
    assert other.tokenize(texts).to_list() == one.tokenize(texts).to_list()
    for pairs in (None, [*texts[1:], texts[0]]):
        for options in ({"max_length": 16}, {"max_length": 200, "pad_to_longest": True}):
            rows, expected = (tokenizer.encode(texts, pairs, **options) for tokenizer in (other, one))
            assert rows.keys() == expected.keys()
            for name, values in expected.items():
                np.testing.assert_array_equal(rows[name], values, err_msg=name)
                assert rows[name].dtype == np.int32


def test_marks_in_texts_that_are_read_as_letters_are_named_once(tmp_path, caplog):
    for tokenizer in both(Tokenizer([*PIECES, "[ENT]"], True), tmp_path):
        caplog.clear()
        tokenizer.encode(["a [MASK] b", "[1] <b> [NONE]"], max_length=8)
        assert not caplog.messages
        for _ in range(2):
            tokenizer.encode(["[ENT] a"], ["b [SEP] c"], max_length=8)
        starts = [message.partition(":")[0] for message in caplog.messages]
        assert starts == ["a text holds [ENT]", "a text holds [SEP]"]


def test_threads_may_find_the_same_marks_at_once(monkeypatch):
    tokenizer, names = Tokenizer([*PIECES, "[ENT]"], True), []

    def warn(_, name):
        names.append(name)
        tokenizer.encode(["[ENT] [SEP]"], max_length=8)

    monkeypatch.setattr("keras_bert.tokenizers.base.logger.warning", warn)
    tokenizer.encode(["[ENT] [SEP]"], max_length=8)
    assert names == ["[ENT]", "[SEP]"]


@pytest.mark.parametrize("lowercase", [True, False, "keep_accents"])
def test_word_pieces_of_all_of_unicode(lowercase, tmp_path):
    assert_same_rows(*both(Tokenizer(PIECES, lowercase), tmp_path), make_strings(seed=9)[::4])


@pytest.mark.parametrize("lowercase", [True, False, "keep_accents"])
def test_word_pieces_of_hard_texts(lowercase, tmp_path):
    one, other = both(Tokenizer(VOCABULARY, lowercase), tmp_path)
    assert_same_rows(one, other, [*WORDS, *LONG])
    # Marks out of order have other places in the reference: decision 0008.
    ordered = [text for text in WORDS if "\u302e" not in text]
    for rows, expected in zip(other.tokenize_with_offsets(ordered), one.tokenize_with_offsets(ordered), strict=True):
        assert rows.to_list() == expected.to_list()
    np.testing.assert_array_equal(other.word_marks(), one.word_marks())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords(kind, tmp_path):
    one, other = both(SubwordTokenizer(json.loads(getattr(subwords, kind)())), tmp_path)
    texts = [*subwords.TEXTS, "", "  ", *make_strings(seed=3)[:200]]
    assert_same_rows(one, other, texts)
    for rows, expected in zip(other.tokenize_with_offsets(texts), one.tokenize_with_offsets(texts), strict=True):
        assert rows.to_list() == expected.to_list()
    assert other.tokenize_words(["old", "cow"]).to_list() == one.tokenize_words(["old", "cow"]).to_list()


def test_texts_that_cannot_be_encoded(tmp_path):
    for tokenizer in both(Tokenizer(PIECES, lowercase=True), tmp_path):
        for texts, pairs, length, message in (
            ("abc", None, 8, "texts must be a list of texts"),
            ([], None, 8, "texts must hold at least one text"),
            (["a"], ["a", "b"], 8, "pairs must hold as many texts as texts does, 1, got 2"),
            (["a"], ["\ud800"], 8, r"pairs\[0\] must hold no lone surrogate"),
            (["a"], ["a"], 4, "max_length must be at least 5, got 4"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                tokenizer.encode(texts, pairs, max_length=length)


@pytest.mark.parametrize("room", [3, 6, 7])
def test_pairs_keep_the_tokens_that_fast_tokenizers_keep(room):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(room, strategy="longest_first")
    pairs = [(first, second) for first in range(1, 10) for second in range(1, 10)]
    rows = [tokenizer.encode("a " * first, "b " * second).ids for first, second in pairs]
    for library in (np, tf):
        lengths = [library.constant(side) if library is tf else np.array(side) for side in zip(*pairs, strict=True)]
        kept = np.transpose([np.asarray(side) for side in count_kept_tokens(lengths, room, library)])
        assert kept.tolist() == [[row.count(0), row.count(1)] for row in rows]
