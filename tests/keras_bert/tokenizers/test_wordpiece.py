"""Ids and offsets against Hugging Face's own, and against BERT by the book."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.lite.python.interpreter import InterpreterWithCustomOps
from tensorflow_text import tflite_registrar

from benchmarks.harness.texts import load_vocabulary
from benchmarks.tokenizer import check
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.golden.hard_texts import TEXTS, VOCABULARY
from tests.keras_bert.tokenizers import bert_by_the_book

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "tokenizer.json").read_text())
CASES = {"lowercase": True, "cased": False}

# What BERT treats in its own way, and pieces of the vocabulary, often enough to meet each other.
FRAGMENTS = [*"aéßΣ가日ab19.#[ \\u0301", "hello", "a" * 99, "é" * 51, *(text for text in TEXTS if 0 < len(text) < 20)]
HARD_TEXTS = st.lists(st.one_of(st.text(max_size=8), st.sampled_from(FRAGMENTS)), max_size=12).map("".join)


def rows(tokens):
    """(id, start, end) of each piece of each text."""
    return [list(zip(*row, strict=True)) for row in zip(*(part.to_list() for part in tokens), strict=True)]


@pytest.mark.parametrize("case", CASES)
def test_equals_the_golden_ids_and_offsets(case):
    tokenizer = Tokenizer(GOLDEN["vocabulary"], CASES[case])
    tokens = tokenizer.tokenize_with_offsets(GOLDEN["texts"])
    for name, values in zip(("ids", "starts", "ends"), tokens, strict=True):
        assert values.to_list() == GOLDEN[case][name]
    assert tokenizer.tokenize(GOLDEN["texts"]).to_list() == GOLDEN[case]["ids"]


@pytest.mark.parametrize("case", CASES)
def test_the_book_equals_the_golden_ids_and_offsets(case):
    for number, text in enumerate(GOLDEN["texts"]):
        expected = zip(*(GOLDEN[case][name][number] for name in ("ids", "starts", "ends")), strict=True)
        assert bert_by_the_book.tokenize(text, GOLDEN["vocabulary"], CASES[case]) == list(expected)


def test_the_golden_file_holds_these_texts_and_special_tokens_are_no_words():
    assert GOLDEN["texts"] == list(TEXTS)
    assert GOLDEN["vocabulary"] == list(VOCABULARY)
    assert Tokenizer(SPECIAL_TOKENS, lowercase=False).tokenize(["a [UNK] ##"]).to_list() == [[1] * 6]


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=80)
@given(texts=st.lists(HARD_TEXTS, min_size=1, max_size=5))
def test_equals_the_book(case, texts):
    tokenizer = Tokenizer(VOCABULARY, CASES[case])
    tokens = tokenizer.tokenize_with_offsets(texts)
    assert rows(tokens) == [bert_by_the_book.tokenize(text, VOCABULARY, CASES[case]) for text in texts]
    assert tokenizer.tokenize(texts).to_list() == tokens[0].to_list()


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=60)
@given(texts=st.lists(st.binary(max_size=20) | st.sampled_from([b"a\xe0\xa0", b"\xf0\x9f\x98b"]), min_size=1))
def test_broken_utf8_counts_as_replacement_characters(case, texts):
    tokenizer = Tokenizer(VOCABULARY, CASES[case])
    decoded = [text.decode(errors="replace") for text in texts]
    assert rows(tokenizer.tokenize_with_offsets(texts)) == rows(tokenizer.tokenize_with_offsets(decoded))
    assert tokenizer.tokenize(texts).to_list() == tokenizer.tokenize(decoded).to_list()


@pytest.mark.parametrize("case", CASES)
def test_characters_of_all_planes_equal_the_book(case):
    texts = [f"a{chr(place)}b" for place in range(1, 0x110000, 61) if not 0xD800 <= place < 0xE000]
    tokens = Tokenizer(VOCABULARY, CASES[case]).tokenize_with_offsets(texts)
    assert rows(tokens) == [bert_by_the_book.tokenize(text, VOCABULARY, CASES[case]) for text in texts]


def run_in_tflite(graph, folder, *texts):
    """The outputs of a graph that takes strings, by name; it goes through a SavedModel."""
    module = tf.Module()
    module.graph = graph
    tf.saved_model.save(module, str(folder), signatures=graph)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder))
    converter.allow_custom_ops = True
    interpreter = InterpreterWithCustomOps(
        model_content=converter.convert(), custom_op_registerers=tflite_registrar.SELECT_TFTEXT_OPS
    )
    run = interpreter.get_signature_runner()
    return run(**{name: np.array(part, object) for name, part in zip(("texts", "pairs"), texts, strict=False)})


# The interpreter with the kernels of TensorFlow Text is TensorFlow's own.
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning")
def test_tokenizes_in_tflite(tmp_path):
    tokenizer = Tokenizer(VOCABULARY, lowercase=True)
    strings = tf.TensorSpec([None], tf.string)
    graph = tf.function(lambda texts: {"ids": tokenizer.tokenize(texts).to_tensor(-1)}, input_signature=[strings])
    texts = [text.encode() for text in TEXTS]
    np.testing.assert_array_equal(run_in_tflite(graph, tmp_path, texts)["ids"], graph(texts)["ids"])


# The interpreter with the kernels of TensorFlow Text is TensorFlow's own.
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning")
def test_encodes_in_tflite(tmp_path):
    tokenizer = Tokenizer(VOCABULARY, lowercase=True)
    strings = tf.TensorSpec([None], tf.string)
    graph = tf.function(
        lambda texts, pairs: tokenizer.encode(texts, pairs, max_length=16), input_signature=[strings, strings]
    )
    texts, pairs = ([text.encode() for text in part] for part in (TEXTS, TEXTS[::-1]))
    outputs, expected = run_in_tflite(graph, tmp_path, texts, pairs), graph(texts, pairs)
    assert outputs.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(outputs[name], values)


DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()
PYTHON = os.environ.get("TRANSFORMERS_PYTHON", "")
FILES = sorted([*DATA.glob("tokenizer/*.txt"), *DATA.glob("corpus/*.txt")])
VOCABULARIES = sorted(DATA.glob("vocab/*.txt"))


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="needs BERT_TEST_DATA, a folder with vocab/, corpus/ and tokenizer/")
@pytest.mark.skipif(not PYTHON, reason="needs TRANSFORMERS_PYTHON, an interpreter with tokenizers")
@pytest.mark.parametrize("text", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda file: file.stem)
def test_no_line_differs_from_the_reference(vocabulary, text):
    lines = text.read_bytes().decode(errors="replace").split("\n")
    differences = check(load_vocabulary(vocabulary), PYTHON, lines)
    assert differences.texts == len(lines)
    assert (differences.ids, differences.offsets) == (0, 0)


@pytest.mark.slow
@pytest.mark.skipif(not VOCABULARIES, reason="needs BERT_TEST_DATA, a folder with vocab/")
@pytest.mark.skipif(not PYTHON, reason="needs TRANSFORMERS_PYTHON, an interpreter with tokenizers")
@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda file: file.stem)
@pytest.mark.parametrize("shape", ["{}", "a{}b", "a {}", "{0}2 x{0}{0}"])
def test_no_character_differs_from_the_reference(vocabulary, shape):
    texts = [shape.format(chr(place)) for place in range(0x110000) if not 0xD800 <= place < 0xE000]
    differences = check(load_vocabulary(vocabulary), PYTHON, texts)
    assert (differences.ids, differences.offsets) == (0, 0)
