"""Attributions: exact sums, gradients by differences, occlusion by hand, every family, task and runtime."""

from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.options.data import Prompts
from plugins.explain.attention import attentions
from plugins.explain.attribution import Attribution, attributions
from plugins.explain.occlusion import deletion_curve
from plugins.explain.tokens import Tokens
from tests.keras_bert.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import KINDS, make_task
from tests.samples import long_but

TEXT = "abc d ef"


def logit(task, ids, label=1):
    ids = np.array([ids], "int32")
    batch = {"token_ids": ids, "segment_ids": np.zeros_like(ids), "padding_mask": np.ones_like(ids)}
    return float(task.forward(batch)[0][label])


# `test_attribution_parity.py` compares every family with captum.
@pytest.mark.parametrize("family", long_but(("bert", "modernbert"), FAMILIES))
def test_integrated_gradients_sum_to_the_difference_of_the_scores(family, tokenizer):
    task = family_task(family, tokenizer)
    # ModernBERT normalizes token embeddings alone: all points between a vector and [PAD]'s zeros are the same to it.
    baseline = "[MASK]" if family == "modernbert" else "[PAD]"
    attribution = attributions(task, TEXT, pair="g a", steps=200, baseline=baseline)
    assert attribution.target in task.labels
    assert attribution.row.texts == (TEXT, "g a")
    assert attribution.token_scores.shape == (len(attribution.tokens),)
    assert attribution.token_scores.dtype == "float32"
    expected = max(task.forward(task.encode([TEXT], ["g a"]))[0])
    assert attribution.score == pytest.approx(expected, abs=1e-5)
    assert attribution.gap < 0.01
    np.testing.assert_array_equal(attribution.token_scores[attribution.row.words == -1], 0)
    total = attribution.by_word().sum()
    assert total == pytest.approx(attribution.score - attribution.baseline_score, rel=0.01)


@pytest.mark.parametrize("baseline", ["[PAD]", "[MASK]"])
def test_the_baseline_is_the_row_with_its_token(task, tokenizer, baseline):
    attribution = attributions(task, TEXT, task.labels[1], baseline=baseline)
    empty = {"[PAD]": tokenizer.pad_id, "[MASK]": tokenizer.mask_id}[baseline]
    ids = np.asarray(task.encode([TEXT])["token_ids"])[0].tolist()
    row = [ids[0], *[empty] * (len(ids) - 2), ids[-1]]
    assert attribution.baseline_score == pytest.approx(logit(task, row), abs=1e-5)
    assert attribution.score == pytest.approx(logit(task, ids), abs=1e-5)


def test_input_x_gradient_by_differences(task):
    table = next(layer for layer in task.model.layers if isinstance(layer, TokenEmbedding)).embeddings
    attribution = attributions(task, "abc", task.labels[1], method="input_x_gradient")
    values, ids = table.numpy(), np.asarray(task.encode(["abc"])["token_ids"])[0].tolist()
    assert len(set(ids)) == len(ids), "a row of the table is one token"
    try:
        for place, token in enumerate(ids):
            scores = []
            for step in (1e-2, -1e-2):  # along the vector itself
                changed = values.copy()
                changed[token] *= 1 + step
                table.assign(changed)
                scores.append(logit(task, ids))
            assert attribution.token_scores[place] == pytest.approx((scores[0] - scores[1]) / 2e-2, rel=2e-2, abs=2e-3)
    finally:
        table.assign(values)
    assert attribution.gap is None


def test_occlusion_by_hand(task, tokenizer):
    attribution = attributions(task, TEXT, task.labels[1], method="occlusion")
    ids, mask = np.asarray(task.encode([TEXT])["token_ids"])[0], tokenizer.mask_id
    row = Tokens.of(tokenizer, [TEXT], max_length=task.max_length)
    assert row.word_texts == ("abc", "d", "ef")
    for word, share in enumerate(attribution.by_word()):
        without = np.where(row.words == word, mask, ids).tolist()
        assert share == pytest.approx(logit(task, ids.tolist()) - logit(task, without), abs=1e-5)
    assert len(np.unique(attribution.token_scores[1:4].round(6))) == 1, "the tokens of a word share alike"


def test_attributions_of_every_task(tokenizer):
    def explain(kind, *arguments, **options):
        task = make_task(kind, tokenizer=tokenizer)
        for weight in task.model.trainable_weights:
            weight.assign(0.3 * weight)
        return task, attributions(task, *arguments, **options)

    task, attribution = explain("regression", TEXT)
    assert attribution.target == "number"
    assert attribution.score == pytest.approx(task.predict([TEXT])[0], abs=1e-5)
    task, attribution = explain("embedding", TEXT, "g a")
    vectors = task.predict([TEXT, "g a"])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert attribution.target == "cosine with 'g a'"
    assert attribution.score == pytest.approx(vectors[0] @ vectors[1], abs=1e-5)
    task, attribution = explain("question_answering", "ab", "end", pair=TEXT)
    logits = task.forward(task.encode(["ab"], [TEXT]))[0][:, 1]
    context = np.flatnonzero((attribution.row.segments == 1) & (attribution.row.words >= 0))
    assert attribution.score == pytest.approx(logits[context].max(), abs=1e-5)
    place = context[logits[context].argmax()]
    assert attribution.target == f"end at {attribution.row.word_texts[attribution.row.words[place]]!r}"
    task, attribution = explain("token_classification", TEXT, f"d={KINDS['token_classification'][1]['labels'][1]}")
    logits = task.forward(task.encode([TEXT]))[0]
    assert attribution.score == pytest.approx(logits[4, 1], abs=1e-5), "abc has three tokens"
    assert attributions(task, TEXT, "2").target == f"ef={task.labels[logits[5].argmax()]}"
    assert attributions(task, TEXT).target.split("=")[1] != "O"


def test_prompts_are_read_and_explained_as_in_the_answer(tokenizer):
    task = make_task("embedding", tokenizer=tokenizer)
    task.prompts = Prompts(query="d ", passage="ef ")
    attribution = attributions(task, "abc", "g a")
    assert attribution.row.word_texts == ("d", "abc")
    (cosine,), (plain_cosine,) = (
        next(one.answer_values(["abc"], ["g a"])) for one in (task, make_task("embedding", tokenizer=tokenizer))
    )
    assert attribution.score == pytest.approx(cosine, abs=1e-6)
    assert abs(cosine - plain_cosine) > 1e-5
    (attention,) = attentions(task, ["abc"])
    assert attention.tokens == attribution.tokens


@pytest.mark.parametrize("suffix", long_but(["onnx"], ["tflite", "onnx"]))
def test_occlusion_of_a_file_is_that_of_its_model(task, suffix, tmp_path):
    from keras_bert.export.bundle import attach_companions, load
    from keras_bert.export.onnx import export_onnx
    from keras_bert.export.tflite import export_tflite

    file = tmp_path / f"model.{suffix}"
    if suffix == "onnx":
        export_onnx(task.network(), file)
    else:
        export_tflite(task.network(), file, lengths=[task.max_length])
    attach_companions(task, file)
    loaded = load(file)
    expected = attributions(task, TEXT, method="occlusion")
    attribution = attributions(loaded, TEXT, method="occlusion")
    np.testing.assert_allclose(attribution.token_scores, expected.token_scores, atol=1e-4)
    message = "must be a Keras model for gradients; an exported file can be explained with method='occlusion'"
    with pytest.raises(ValueError, match=message):
        attributions(loaded, TEXT)


def test_a_quantization_aware_model_is_explained_on_its_grid(tokenizer):
    task = family_task("bert", tokenizer)
    score = attributions(task, TEXT, task.labels[0]).score
    QuantizationAware(task.model, [task.encode([TEXT])])
    attribution = attributions(task, TEXT, task.labels[0], steps=200)
    quantized = float(task.forward(task.encode([TEXT]))[0][0])
    assert quantized != score
    assert attribution.score == pytest.approx(quantized, abs=1e-5)


def test_the_adapter_of_the_task_is_explained(tokenizer):
    task = family_task("bert", tokenizer)
    before = attributions(task, TEXT, task.labels[1])
    adapter = task.adapt(keras_bert.Lora(rank=2))
    for weight in task.model.trainable_weights:
        weight.assign(weight + 0.1)
    with_adapter = attributions(task, TEXT, task.labels[1])
    assert not np.allclose(before.token_scores, with_adapter.token_scores)
    adapter.detach()
    np.testing.assert_allclose(attributions(task, TEXT, task.labels[1]).token_scores, with_adapter.token_scores)


@pytest.mark.parametrize("method", ["integrated_gradients", "input_x_gradient"])
def test_gradients_with_a_prompt(method, roomy_task):
    task = roomy_task
    for weight in task.model.trainable_weights:
        weight.assign(0.3 * weight)
    plain = attributions(task, TEXT, "mid", method=method)
    adapter = task.adapt(keras_bert.Prompt(tokens=3))
    for weight in adapter.weights().values():
        weight.assign(keras.random.normal(weight.shape, seed=3))
    attribution = attributions(task, TEXT, "mid", method=method, steps=200)
    assert attribution.tokens == plain.tokens
    assert attribution.score == pytest.approx(task.forward(task.encode([TEXT]))[0][1], abs=1e-5)
    assert np.abs(attribution.token_scores - plain.token_scores).max() > 1e-3
    if method == "integrated_gradients":
        assert attribution.gap < 0.01
        np.testing.assert_array_equal(attribution.token_scores[[0, -1]], 0)


def test_threads_explain_one_model_and_leave_it_as_it_was(task):
    texts = [TEXT, "g", "ab cd"] * 2
    alone = [attributions(task, text, task.labels[0], steps=4) for text in texts]
    answers = task.predict(texts)
    with ThreadPoolExecutor(len(texts) + 1) as pool:
        predicted = pool.submit(task.predict, texts)
        together = list(pool.map(lambda text: attributions(task, text, task.labels[0], steps=4), texts))
    for expected, attribution in zip(alone, together, strict=True):
        np.testing.assert_allclose(attribution.token_scores, expected.token_scores, atol=1e-6)
    assert predicted.result() == task.predict(texts) == answers
    assert all(tap.output_tap.transform is None for tap in task.model.layers if isinstance(tap, TokenEmbedding))


def test_texts_that_are_too_long_or_have_no_words(task):
    attribution = attributions(task, "a " * 100, method="occlusion")
    assert len(attribution.tokens) == task.max_length
    assert attribution.row.dropped == (102 - task.max_length,)
    attribution = attributions(task, "", method="occlusion")
    assert attribution.by_word().shape == (0,)
    assert not attribution.token_scores.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "0ne"}, "target must be one of .*, got '0ne'$"),
        ({"method": "lime"}, "attributions.method must be one of .*, got 'lime'"),
        ({"baseline": "[UNK]"}, r"attributions.baseline must be one of \['\[PAD\]', '\[MASK\]'\], got '\[UNK\]'"),
        ({"steps": 0}, "attributions.steps must be a whole number from 1 to 10000, got 0"),
        ({"steps": 2.5}, "attributions.steps must be a whole number from 1 to 10000, got 2.5"),
        ({"steps": "8"}, "attributions.steps must be a whole number from 1 to 10000, got '8'"),
        ({"steps": 10_001}, "attributions.steps must be a whole number from 1 to 10000, got 10001"),
    ],
)
def test_refused(task, arguments, message):
    with pytest.raises(ValueError, match=message):
        attributions(task, TEXT, **arguments)


def test_refused_targets(task, tokenizer):
    with pytest.raises(TypeError, match=r"text\[0\] must be a string"):
        attributions(task, 3)
    with pytest.raises(ValueError, match="be left out, as there is one number, got 'a'"):
        attributions(make_task("regression", tokenizer=tokenizer), TEXT, "a")
    with pytest.raises(TypeError, match=r"Embedding\.target must be the text to compare with, got None"):
        attributions(make_task("embedding", tokenizer=tokenizer), TEXT)
    tagger = make_task("token_classification", tokenizer=tokenizer)
    with pytest.raises(ValueError, match=r"target must be one of \['abc', 'd', 'ef'\], got 'abd'; the nearest is"):
        attributions(tagger, TEXT, "abd")
    with pytest.raises(ValueError, match="target must name a word of the text, which has none"):
        attributions(tagger, "")
    answering = make_task("question_answering", tokenizer=tokenizer)
    with pytest.raises(ValueError, match=r"target must be one of \['start', 'end'\], got 'middle'"):
        attributions(answering, "a", "middle", pair=TEXT)


def test_gaps_are_shares_of_the_difference(task):
    row = Tokens.of(task.tokenizer, ["d"], max_length=16)
    scores = np.array([0, 1.5, 0], "float32")
    attribution = Attribution(row, "a", "integrated_gradients", 3.0, 1.0, scores)
    assert (attribution.gap, attribution.absolute_gap) == (pytest.approx(0.25), pytest.approx(0.5))
    near = Attribution(row, "a", "integrated_gradients", 1.001, 1.0, scores)
    assert near.gap > 1000
    assert near.absolute_gap == pytest.approx(1.499)
    assert Attribution(row, "a", "occlusion", 3.0, None, scores).absolute_gap is None


@pytest.mark.parametrize(("baseline", "name"), [("[MASK]", "mask_id"), ("[PAD]", "pad_id")])
def test_words_go_one_after_the_other(task, baseline, name):
    curve = deletion_curve(task, TEXT, [2, 0], task.labels[1], baseline=baseline)
    batch = {name: array.copy() for name, array in task.encode([TEXT]).items()}
    empty = getattr(task.tokenizer, name)
    places = {0: [1, 2, 3], 2: [5, 6]}
    expected = [task.forward(batch)[0][1]]
    for word in (2, 0):
        batch["token_ids"][0, places[word]] = empty
        expected.append(task.forward(batch)[0][1])
    np.testing.assert_allclose(curve, expected, atol=1e-5)


def test_the_first_word_of_an_occlusion_lowers_the_score_most(task):
    order = np.argsort(-attributions(task, TEXT, task.labels[0], method="occlusion").by_word())
    firsts = [deletion_curve(task, TEXT, [word], task.labels[0])[1] for word in range(3)]
    assert np.argmin(firsts) == order[0]


@pytest.mark.parametrize("order", [[0, 0], [3], [-1]])
def test_orders_that_are_refused(task, order):
    with pytest.raises(ValueError, match=r"deletion_curve\.order must hold numbers of the 3 words, each once, got"):
        deletion_curve(task, TEXT, order)
    with pytest.raises(ValueError, match=r"deletion_curve\.baseline must be one of"):
        deletion_curve(task, TEXT, [0], baseline="[UNK]")
