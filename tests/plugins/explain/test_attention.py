"""Attention of every family: the recorded probabilities as full matrices that explain the layers' outputs."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert.families.bigbird.layers import BigBirdAttention
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.longformer.layers import LongformerAttention
from keras_bert.families.longformer.settings import Longformer
from keras_bert.layers.tap import recording
from keras_bert.models.encoder import blocks_of
from keras_bert.tasks.classification import Classification
from plugins.explain.attention import EncoderAttention, attentions, rollout
from tests.keras_bert.families.long_attention import bias_of, config, heads_of, states
from tests.keras_bert.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import CONFIG, make_task
from tests.samples import long_but

TEXTS, PAIRS = ["abc d ef", "g"], ["ef ga", "b c d e f"]


@pytest.mark.parametrize("family", long_but(("bert", "longformer", "bigbird", "deberta"), FAMILIES))
def test_every_family_gives_full_matrices(family, tokenizer):
    task = family_task(family, tokenizer)
    for attention, text, second in zip(attentions(task, TEXTS, PAIRS), TEXTS, PAIRS, strict=True):
        count = len(attention.tokens)
        assert attention.row.texts == (text, second)
        assert attention.weights.shape == (CONFIG.num_layers, CONFIG.num_heads, count, count)
        assert attention.weights.dtype == "float32"
        np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
        words = attention.by_word()
        assert words.shape[-1] == len(attention.row.word_texts)
        special = attention.row.words == -1
        to_special = attention.weights[..., special].sum(axis=-1)
        averaged = [to_special[..., attention.row.words == word].mean(axis=-1) for word in range(words.shape[-1])]
        np.testing.assert_allclose(words.sum(axis=-1), 1 - np.stack(averaged, axis=-1), atol=1e-5)


@pytest.mark.parametrize("family", long_but(("bert", "longformer"), [name for name in FAMILIES if name != "bigbird"]))
def test_padding_changes_nothing(family, tokenizer):
    task = family_task(family, tokenizer)
    together = EncoderAttention(task.model).weights(task.encode(TEXTS))
    for index, attention in enumerate(attentions(task, TEXTS)):
        count = len(attention.tokens)
        np.testing.assert_allclose(together[:, index, :, :count, :count], attention.weights, atol=1e-5)


@pytest.mark.parametrize("length", [5, 8, 13])
@pytest.mark.parametrize("first", [0, 1, 3])
def test_windows_and_global_tokens_explain_the_context(length, first):
    layer = LongformerAttention(config(Longformer(window=4)), index=0)
    x, mask = states(length), np.ones((2, length), "int32")
    mask[1, -2:] = 0
    marks = np.zeros((2, first), "int32")
    marks[:, : max(first - 1, 0)] = 1
    weights, context = _run(layer, x, mask, marks)
    expected = weights @ heads_of(layer.value, x)
    is_global = np.pad(marks, ((0, 0), (0, length - first)))[:, None, :, None] > 0
    expected = np.where(is_global, weights @ heads_of(layer.global_value, x), expected)
    np.testing.assert_allclose(_project(layer, expected), context, atol=1e-5)
    distance = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    outside = (distance > 2) & ~is_global & ~is_global.transpose(0, 1, 3, 2)
    assert np.all(weights[np.broadcast_to(outside, weights.shape)] == 0)


@pytest.mark.parametrize("length", [16, 17, 23])
def test_blocks_explain_the_context(length):
    layer = BigBirdAttention(config(BigBird(block_size=2, random_blocks=1)), index=0)
    x, mask = states(length), np.ones((2, length), "int32")
    mask[1, -2:] = 0
    weights, context = _run(layer, x, mask)
    assert np.any(weights[0] == 0), "blocks that are not looked at"
    np.testing.assert_allclose(_project(layer, weights @ heads_of(layer.value, x)), context, atol=1e-5)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def _run(layer, x, mask, *marks):
    bias = bias_of(mask)
    layer(x, bias, *marks)  # builds it
    with recording([layer.probabilities_tap]) as seen:
        context = ops.convert_to_numpy(layer(x, bias, *map(ops.convert_to_tensor, marks)))
    parts = [ops.convert_to_numpy(part) for part in seen[layer.probabilities_tap]]
    return layer.full_probabilities(parts, x.shape[1], *marks), context


def _project(layer, contexts):
    rows = contexts.transpose(0, 2, 1, 3).reshape(*contexts.shape[::2][:1], contexts.shape[2], -1)
    return ops.convert_to_numpy(layer.output_projection(ops.convert_to_tensor(rows.astype("float32"))))


@pytest.mark.parametrize("kind", ["embedding", "pretraining", "question_answering", "token_classification"])
def test_every_head_has_the_encoders_attention(kind, tokenizer):
    task = make_task(kind, CONFIG, tokenizer)
    alone = EncoderAttention(task.encoder).weights(task.encode(TEXTS[:1]))
    np.testing.assert_allclose(next(attentions(task, TEXTS)).weights, alone[:, 0], atol=1e-6)


def test_words_follow_clark_et_al(classifier):
    attention = next(attentions(classifier, ["ab c"]))
    assert attention.tokens == ("[CLS]", "a", "##b", "c", "[SEP]")
    full = attention.weights
    by_hand = [
        [full[..., 1:3, 1:3].sum(-1).mean(-1), full[..., 1:3, 3].mean(-1)],
        [full[..., 3, 1:3].sum(-1), full[..., 3, 3]],
    ]
    np.testing.assert_allclose(attention.by_word(), np.moveaxis(np.array(by_hand), (0, 1), (2, 3)), atol=1e-6)


def test_a_text_that_is_too_long_is_cut_as_predict_cuts_it(classifier):
    attention = next(attentions(classifier, ["a " * 40]))
    assert len(attention.tokens) == CONFIG.max_length
    assert attention.row.dropped == (40 - CONFIG.max_length + 2,)


@pytest.mark.parametrize("adaptation", [keras_bert.Lora(rank=2), keras_bert.Prompt(tokens=3)], ids=["lora", "prompt"])
def test_the_tasks_own_adapter_is_attached(adaptation, roomy_task):
    task = roomy_task
    plain = Classification.build(task.encoder, task.tokenizer, labels=["a", "b"], max_length=task.max_length)
    before = next(attentions(plain, TEXTS)).weights
    adapter = task.adapt(adaptation)
    for weight in adapter.weights().values():
        weight.assign(keras.random.normal(weight.shape, seed=3))
    adapted = next(attentions(task, TEXTS))
    prompt = 3 if isinstance(adaptation, keras_bert.Prompt) else 0
    assert adapted.tokens[:prompt] == ("[PROMPT]",) * prompt
    assert adapted.weights.shape[-1] == len(adapted.tokens) == before.shape[-1] + prompt
    assert np.abs(adapted.weights[..., prompt:, prompt:] - before).max() > 1e-3
    np.testing.assert_array_equal(next(attentions(plain, TEXTS)).weights, before)
    adapter.detach()
    np.testing.assert_array_equal(next(attentions(task, TEXTS)).weights, adapted.weights)


def test_threads_do_not_mix_their_texts_and_the_model_stays_as_it_was(classifier):
    texts = ["a b c", "d e f g a", "c", "abcdefg"] * 5
    before, expected = classifier.predict(TEXTS), list(attentions(classifier, texts))
    with ThreadPoolExecutor(4) as pool:
        for (attention,), alone in zip(
            pool.map(lambda text: [*attentions(classifier, [text])], texts), expected, strict=True
        ):
            np.testing.assert_array_equal(attention.weights, alone.weights)
    assert classifier.predict(TEXTS) == before
    assert all(block.attention.probabilities_tap.transform is None for block in blocks_of(classifier.model))


@pytest.mark.parametrize(
    ("texts", "pairs", "error", "message"),
    [
        ([], None, ValueError, "texts must hold at least one text"),
        ("a b", None, TypeError, "texts"),
        (["a", 3], None, TypeError, "texts"),
        (["a"], ["b", "c"], ValueError, "as many"),
    ],
)
def test_wrong_texts_are_refused_at_once(texts, pairs, error, message, classifier):
    with pytest.raises(error, match=message):
        attentions(classifier, texts, pairs)


def test_a_model_without_an_encoder_is_refused():
    inputs = keras.Input((3,))
    with pytest.raises(ValueError, match="must hold an encoder"):
        EncoderAttention(keras.Model(inputs, inputs + 1)).weights({"token_ids": np.ones((1, 3), "int32")})


def test_three_tokens_by_hand_and_that_shares_sum_to_one():
    first = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.6, 0.4]])
    second = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    heads = np.stack([np.stack([first + 0.1 * np.eye(3), first - 0.1 * np.eye(3)]), np.stack([second, second])])
    below = np.array([[0.6, 0.15, 0.25], [0.5, 0.5, 0.0], [0.0, 0.3, 0.7]])
    above = np.array([[0.5, 0.5, 0.0], [0.25, 0.625, 0.125], [0.05, 0.05, 0.9]]) @ below
    np.testing.assert_allclose(rollout(heads), [below, above], atol=1e-12)
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=(5, 3, 7))
    np.testing.assert_allclose(rollout(weights).sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 3, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"^rollout\.weights must be \(layers, heads, tokens, tokens\), got shape"):
        rollout(np.ones(shape))
