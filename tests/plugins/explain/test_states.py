"""States of words against the states of single tokens, for every family."""

import sys

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.models.encoder import blocks_of
from plugins.explain.states import word_states
from plugins.explain.tokens import Tokens
from tests.keras_bert.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import CONFIG
from tests.samples import long_but

SENTENCES = [["abc", "d"], ["\x01", "ef", "ga"], [], ["b"]]


@pytest.mark.parametrize("family", long_but(("bert", "albert", "pre norm", "mobilebert"), FAMILIES))
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


def test_layers_are_the_inputs_of_blocks_and_the_output(classifier):
    task = classifier
    actual = word_states(task, [["abc", "d"]])
    features = task.tokenizer.encode(["abc d"], max_length=16)
    names = ["embeddings_norm", *(block.name for block in blocks_of(task.model))]
    for layer, name in enumerate(names):
        model = keras.Model(task.encoder.input, task.encoder.get_layer(name).output)
        np.testing.assert_allclose(actual.states[layer], np.asarray(model(features))[0, [1, 4]], atol=1e-5)


def test_batches_and_parts_change_nothing(classifier, monkeypatch):
    whole = word_states(classifier, SENTENCES)
    long = word_states(classifier, [["ab", "c"] * 40])
    assert (long.words.tolist(), long.left_out) == (list(range(80)), 0), "every word of a long sentence has a state"
    monkeypatch.setattr(sys.modules["plugins.explain.states"], "_SENTENCES_AT_ONCE", 1)
    parts = word_states(classifier, SENTENCES, batch_size=1)
    np.testing.assert_allclose(parts.states, whole.states, atol=1e-5)
    assert parts.words.tolist() == whole.words.tolist()
    assert parts.sentences.tolist() == whole.sentences.tolist()


def test_a_prompt_is_read_and_has_no_states(roomy_task):
    task = roomy_task
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


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ([], ValueError, r"^sentences must hold at least one sentence, got none$"),
        (["a b"], TypeError, r"^sentences\[0\] must be a list of strings, got 'a b'$"),
        ([["\x01"], []], ValueError, r"^word_states\.sentences must hold a word that has tokens"),
    ],
)
def test_wrong_sentences_are_refused(classifier, sentences, error, message):
    with pytest.raises(error, match=message):
        word_states(classifier, sentences)


@pytest.mark.parametrize("max_length", [5, 6, 9, 40])
@pytest.mark.parametrize("texts", [["Abc de fxg a"], ["abc d", "ef ga b"], ["a", "b c d e f g"], ["[SEP]a", "b"]])
def test_tokens_are_those_of_the_encoded_row(tokenizer, texts, max_length):
    row = Tokens.of(tokenizer, texts, max_length=max_length)
    encoded = tokenizer.encode(texts[:1], texts[1:] or None, max_length=max_length, pad_to_longest=True)
    assert [tokenizer.vocabulary[number] for number in np.asarray(encoded["token_ids"])[0]] == list(row.tokens)
    np.testing.assert_array_equal(row.segments, np.asarray(encoded["segment_ids"])[0])
    lengths = [len(ids) for ids in tokenizer.tokenize(texts).to_list()]
    assert sum(lengths) + tokenizer.special_count(len(texts)) == len(row.tokens) + sum(row.dropped)


def test_words_have_their_tokens_and_places(tokenizer):
    row = Tokens.of(tokenizer, ["abc d", "Ef"], max_length=40)
    assert row.tokens == ("[CLS]", "a", "##b", "##c", "d", "[SEP]", "e", "##f", "[SEP]")
    assert row.words.tolist() == [-1, 0, 0, 0, 1, -1, 2, 2, -1]
    assert row.word_texts == ("abc", "d", "Ef")
    assert row.offsets.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3], [4, 5], [0, 0], [0, 1], [1, 2], [0, 0]]
    row = Tokens.of(tokenizer, ["[SEP]"], max_length=40)
    assert row.words.tolist()[0] == row.words.tolist()[-1] == -1
    assert min(row.words.tolist()[1:-1]) == 0
    row = Tokens.of(tokenizer, ["abc d", " Ef"], max_length=40)
    assert row.word_offsets.tolist() == [[0, 3, 0], [4, 5, 0], [1, 3, 1]]
    assert [row.texts[text][start:end] for start, end, text in row.word_offsets] == list(row.word_texts)
    assert Tokens.of(tokenizer, [""], max_length=40).word_offsets.shape == (0, 3)


def test_prompts_and_parts_of_texts(tokenizer):
    row = Tokens.of(tokenizer, ["ab"], max_length=40).behind_prompt(2)
    assert row.tokens == ("[PROMPT]", "[PROMPT]", "[CLS]", "a", "##b", "[SEP]")
    assert row.words.tolist() == [-1, -1, -1, 0, 0, -1]
    assert row.word_texts == ("ab",)
    assert len(row.segments) == len(row.offsets) == 6
    row = Tokens.of(tokenizer, ["a b", "abc d ef"], max_length=40, parts=[slice(0, 1), slice(3, 5)], answer=(4, 4))
    assert row.tokens == ("[CLS]", "a", "[SEP]", "d", "e", "[SEP]")
    assert row.dropped == (1, 4)
    assert [row.characters_read(text) for text in (0, 1)] == [(0, 1), (4, 7)]
    assert row.behind_prompt(2).answer == (6, 6)
    assert Tokens.of(tokenizer, ["a b"], max_length=40).characters_read(0) == (0, 3)


def test_rows_are_one_text_or_two(tokenizer):
    with pytest.raises(ValueError, match=r"^Tokens\.texts must be one text or a pair, got 3 texts$"):
        Tokens.of(tokenizer, ["a", "b", "c"], max_length=9)
    with pytest.raises(ValueError, match="must be at least 5, got 4"):
        Tokens.of(tokenizer, ["a", "b"], max_length=4)
