"""States of words against the states of single tokens, for every family."""

import dataclasses
import sys

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.explain.word_states import word_states
from keras_bert.models.encoder import blocks_of
from tests.keras_bert.explain.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES, make_task

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer

SENTENCES = [["abc", "d"], ["\x01", "ef", "ga"], [], ["b"]]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(PIECES, True)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_word_has_the_state_of_its_first_token(family, tokenizer):
    task = family_task(family, tokenizer)
    actual = word_states(task, SENTENCES)
    assert actual.words.tolist() == [0, 1, 3, 4, 5]
    assert actual.sentences.tolist() == [0, 0, 1, 1, 3]
    assert actual.left_out == 1
    assert actual.states.shape == (CONFIG.num_layers + 1, 5, CONFIG.hidden_size)
    expected = []
    for text, columns in (("abc d", [1, 4]), ("ef ga", [1, 3]), ("b", [1])):
        features = task.tokenizer.encode([text], max_length=16)
        inputs = {name: features[name] for name in task.encoder.input}
        outputs = np.asarray(task.encoder(inputs)["sequence_output"])[0]
        expected += [outputs[column] for column in columns]
    np.testing.assert_allclose(actual.states[-1], expected, atol=1e-5)


def test_layers_are_the_inputs_of_blocks_and_the_output(tokenizer):
    task = make_task("classification", CONFIG, tokenizer)
    actual = word_states(task, [["abc", "d"]])
    features = task.tokenizer.encode(["abc d"], max_length=16)
    names = ["embeddings_norm", *(block.name for block in blocks_of(task.model))]
    for layer, name in enumerate(names):
        model = keras.Model(task.encoder.input, task.encoder.get_layer(name).output)
        np.testing.assert_allclose(actual.states[layer], np.asarray(model(features))[0, [1, 4]], atol=1e-5)


def test_batches_and_parts_change_nothing(tokenizer, monkeypatch):
    task = make_task("classification", CONFIG, tokenizer)
    whole = word_states(task, SENTENCES)
    monkeypatch.setattr(sys.modules["keras_bert.explain.word_states"], "_SENTENCES_AT_ONCE", 1)
    parts = word_states(task, SENTENCES, batch_size=1)
    np.testing.assert_allclose(parts.states, whole.states, atol=1e-5)
    assert parts.words.tolist() == whole.words.tolist()
    assert parts.sentences.tolist() == whole.sentences.tolist()


def test_every_word_of_a_long_sentence_has_a_state(tokenizer):
    task = make_task("classification", CONFIG, tokenizer)
    actual = word_states(task, [["ab", "c"] * 40])
    assert actual.words.tolist() == list(range(80))
    assert actual.left_out == 0


def test_a_prompt_is_read_and_has_no_states(tokenizer):
    task = make_task("classification", dataclasses.replace(CONFIG, max_length=40), tokenizer)
    task.max_length = 26
    before = word_states(task, SENTENCES).states
    adapter = task.adapt(keras_bert.Prompt(tokens=3))
    adapted = word_states(task, SENTENCES).states
    assert adapted.shape == before.shape
    features = task.tokenizer.encode(["abc d"], max_length=16)
    outputs = np.asarray(task.encoder(features)["sequence_output"])
    np.testing.assert_allclose(adapted[-1][:2], outputs[0, [1, 4]], atol=1e-5)
    assert np.abs(adapted[1] - before[1]).max() > 1e-3
    adapter.detach()
    np.testing.assert_array_equal(word_states(task, SENTENCES).states, adapted)


def test_wrong_sentences_are_refused(tokenizer):
    task = make_task("classification", CONFIG, tokenizer)
    with pytest.raises(ValueError, match=r"^sentences must hold at least one sentence, got none$"):
        word_states(task, [])
    with pytest.raises(TypeError, match=r"^sentences\[0\] must be a list of strings, got 'a b'$"):
        word_states(task, ["a b"])
    with pytest.raises(ValueError, match=r"^word_states\.sentences must hold a word that has tokens"):
        word_states(task, [["\x01"], []])
