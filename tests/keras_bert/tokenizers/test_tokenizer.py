import pickle

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.tokenizers.loading import load_tokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "hello", "world", "##ing", ",", "."]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(PIECES, lowercase=True)


def ids(tokenizer, pieces):
    return [tokenizer.vocabulary.index(piece) for piece in pieces.split()]


def test_tokenizes_words_by_case_and_takes_arrays_and_bytes(tokenizer):
    tokens = tokenizer.tokenize(["Héllo, worlding.", "", "日"])
    assert tokens.dtype == tf.int32
    assert tokens.to_list() == [ids(tokenizer, "hello , world ##ing ."), [], [tokenizer.unknown_id]]
    assert Tokenizer(PIECES, lowercase=False).tokenize(["Hello hello"]).to_list()[0][0] == 1
    assert [tokenizer.count_bytes(piece) for piece in ("un", "##affable", "é", "##雨")] == [3, 7, 3, 3]
    expected = tokenizer.tokenize(["hello", "world"]).to_list()
    assert tokenizer.tokenize(np.array(["hello", "world"])).to_list() == expected
    assert tokenizer.tokenize((b"hello", b"world")).to_list() == expected


def test_offsets_are_characters_of_the_text(tokenizer):
    text = "né 👍\u200d Worlding"
    tokens = tokenizer.tokenize_with_offsets([text])
    assert all(part.dtype == tf.int32 for part in tokens)
    _, starts, ends = (part.to_list()[0] for part in tokens)
    assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == ["n", "é", "👍", "World", "ing"]


def test_encodes_one_text_and_of_a_pair_cuts_the_longer_first(tokenizer):
    inputs = tokenizer.encode(["hello world", "a"], max_length=5)
    hello, world, a = ids(tokenizer, "hello world a")
    assert inputs["token_ids"].numpy().tolist() == [[2, hello, world, 3, 0], [2, a, 3, 0, 0]]
    assert inputs["segment_ids"].numpy().tolist() == [[0] * 5, [0] * 5]
    assert inputs["padding_mask"].numpy().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]
    assert all(tensor.dtype == tf.int32 for tensor in inputs.values())
    assert tokenizer.encode(["a b", "a"], max_length=100, pad_to_longest=True)["token_ids"].shape == (2, 4)
    inputs = tokenizer.encode(["a b c d", "a"], ["e", "a b c d"], max_length=7, pad_to_longest=True)
    a, b, c, d, e = ids(tokenizer, "a b c d e")
    assert inputs["token_ids"].numpy().tolist() == [[2, a, b, c, 3, e, 3], [2, a, 3, a, b, c, 3]]
    assert inputs["segment_ids"].numpy().tolist() == [[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    assert d not in inputs["token_ids"].numpy()


def test_rows_of_mpnet():
    tokenizer = Tokenizer(["<s>", "<pad>", "</s>", "[UNK]", "<mask>", "a", "b"], lowercase=True)
    assert (tokenizer.pad_id, tokenizer.unknown_id, tokenizer.mask_id, tokenizer.special_count(2)) == (1, 3, 4, 4)
    rows = tokenizer.encode(["a b", "<s>"], ["b", "a"], max_length=8)["token_ids"].numpy().tolist()
    assert rows == [[0, 5, 6, 2, 2, 6, 2, 1], [0, 3, 3, 3, 2, 2, 5, 2]]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=4), st.integers(5, 20))
def test_every_encoded_pair_is_well_formed(pairs, max_length):
    tokenizer = Tokenizer(PIECES, lowercase=True)
    texts, others = [list(part) for part in zip(*pairs, strict=True)]
    inputs = {name: value.numpy() for name, value in tokenizer.encode(texts, others, max_length=max_length).items()}
    lengths = inputs["padding_mask"].sum(axis=1)
    sizes = tokenizer.tokenize(texts).row_lengths().numpy() + tokenizer.tokenize(others).row_lengths().numpy() + 3
    np.testing.assert_array_equal(lengths, np.minimum(sizes, max_length))
    for row, length in enumerate(lengths):
        assert inputs["token_ids"][row, 0] == tokenizer.cls_id
        assert inputs["token_ids"][row, length - 1] == tokenizer.sep_id
        assert (inputs["token_ids"][row] == tokenizer.sep_id).sum() == 2
        first_sep = list(inputs["token_ids"][row]).index(tokenizer.sep_id)
        expected = [0] * (first_sep + 1) + [1] * (length - first_sep - 1) + [0] * (max_length - length)
        assert inputs["segment_ids"][row].tolist() == expected


def test_runs_inside_graphs_and_datasets(tokenizer):
    graph = tf.function(lambda texts: tokenizer.encode(texts, max_length=6)["token_ids"])
    eager = tokenizer.encode(["hello"], max_length=6)["token_ids"]
    np.testing.assert_array_equal(graph(tf.constant(["hello"])), eager)
    batches = tf.data.Dataset.from_tensor_slices(["hello", "a b", "world"]).batch(2)
    rows = [row for batch in batches.map(tokenizer.tokenize) for row in batch.to_list()]
    assert rows == tokenizer.tokenize(["hello", "a b", "world"]).to_list()
    pieces = [*PIECES, "graph"]
    tf.function(lambda: Tokenizer(pieces, lowercase=True).tokenize(["graph"]).flat_values)()
    assert Tokenizer(pieces, lowercase=True).tokenize(["graph"]).to_list() == [[len(PIECES)]]


def test_saves_loads_and_pickles(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.vocabulary == tuple(PIECES)
    assert loaded.lowercase
    assert loaded.special_ids == (0, 1, 2, 3, 4)
    assert (loaded.pad_id, loaded.unknown_id, loaded.cls_id, loaded.sep_id, loaded.mask_id) == loaded.special_ids
    assert loaded.vocabulary_size == len(PIECES)
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.vocabulary == tokenizer.vocabulary
    assert copy.tokenize(["hello"]).to_list() == tokenizer.tokenize(["hello"]).to_list()
    empty = tf.constant([], tf.string)
    assert all(part.shape[0] == 0 for part in tokenizer.tokenize_with_offsets(empty))
    assert tokenizer.encode(empty, max_length=8)["token_ids"].shape == (0, 8)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([], "must hold at least the special tokens, got no tokens"),
        ([*SPECIAL_TOKENS, "a", "a"], "must hold each token once, got 'a' as token 6"),
        ([*SPECIAL_TOKENS, ""], "must hold no empty token, got '' as token 5"),
        ([*SPECIAL_TOKENS, "é" * 129], "must hold tokens of at most 256 bytes, got 'é"),
        ([*SPECIAL_TOKENS[:-1], "a"], r"must hold \[MASK\], got 5 tokens without it"),
    ],
)
def test_rejects_a_bad_vocabulary(vocabulary, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer(vocabulary, lowercase=True)


def test_lengths_and_pairs_that_do_not_fit_are_refused(tokenizer):
    with pytest.raises(ValueError, match="max_length must be at least 5, got 4"):
        tokenizer.encode(["a"], ["b"], max_length=4)
    with pytest.raises(ValueError, match="pairs must hold as many texts as texts does, 3, got 2"):
        tokenizer.encode(["a", "b", "c"], ["d", "e"], max_length=8)
    with pytest.raises(TypeError, match=f"pairs {SINGLE}"):
        tokenizer.encode(["a"], "hello", max_length=8)


SINGLE = "must be a list of texts, got 'hello'"


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("hello", TypeError, f"texts {SINGLE}"),
        (b"hello", TypeError, "texts must be a list of texts, got b'hello'"),
        (None, TypeError, "texts must be a list of texts, got None"),
        (["a", None], TypeError, r"texts\[1\] must be text, got None"),
        (["a", 3], TypeError, r"texts\[1\] must be text, got 3"),
        ([["a"]], TypeError, r"texts\[0\] must be text, got \['a'\]"),
        ([], ValueError, "texts must hold at least one text, got none"),
        (["a\ud800"], ValueError, r"texts\[0\] must hold no lone surrogate, got 'a\\ud800'"),
        (tf.constant("a"), ValueError, r"texts must be a tensor of shape \(batch,\), got \(\)"),
        (tf.constant([1]), TypeError, "texts must be a tensor of strings, got one of int32"),
    ],
)
def test_refuses_values_that_are_no_lists_of_texts(tokenizer, texts, error, message):
    for method in (tokenizer.tokenize, tokenizer.tokenize_with_offsets):
        with pytest.raises(error, match=message):
            method(texts)
    with pytest.raises(error, match=message):
        tokenizer.encode(texts, max_length=8)
