"""Scores without a head against models whose output projection does not read the head."""

import dataclasses
import re
import threading

import numpy as np
import pytest

import keras_bert
from keras_bert.models.encoder import blocks_of
from keras_bert.tasks.base import pad_batch
from plugins.explain.ablation import leave_one_head_out
from tests.keras_bert.family_tasks import FAMILIES, family_task
from tests.keras_bert.interop.checkpoints import CONFIG, make_task
from tests.samples import long_but

TEXTS, LABELS = ["abc d ef", "g", "a b"], np.array([0, 1, 2])


def batches_of(task):
    """Padded as `predict` does: the blocks of a BigBird depend on the length."""
    features = task.encode(TEXTS)
    longest = features["token_ids"].shape[1]
    parts = [np.array(rows) for rows in ([0], [1, 2])]
    return [pad_batch(features, rows, longest, task.positions) | {"label": LABELS[rows]} for rows in parts]


def plain_scores(task):
    """The loss and accuracy of each row by the logits of `predict`, in NumPy."""
    logits = np.stack(list(task.outputs(TEXTS))).astype("float64")
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -np.log(shares[np.arange(len(LABELS)), LABELS]).mean()
    return {"loss": loss, "accuracy": (logits.argmax(axis=1) == LABELS).mean()}


# The others have the attention of BERT, whose context this leaves out.
@pytest.mark.parametrize(
    "family", long_but(("bert", "longformer", "bigbird"), [name for name in FAMILIES if name != "albert"])
)
def test_leaving_a_head_out_equals_zeroing_its_rows_of_the_projection(family, tokenizer):
    task = family_task(family, tokenizer)
    for block in blocks_of(task.model):
        # MobileBERT's heads weigh little beside its four feed-forward layers.
        scale = 500 if family == "mobilebert" else 10
        block.attention.output_projection.kernel.assign(scale * block.attention.output_projection.kernel)
    loss = leave_one_head_out(task, batches_of(task))
    accuracy = leave_one_head_out(task, batches_of(task), "accuracy")
    whole = plain_scores(task)
    assert loss.score == pytest.approx(whole["loss"], rel=1e-4)
    assert accuracy.score == pytest.approx(whole["accuracy"])
    for layer, block in enumerate(blocks_of(task.model)):
        kernel, size = block.attention.output_projection.kernel, block.attention.head_size
        before = kernel.numpy()
        for head in range(CONFIG.num_heads):
            masked = before.copy()
            masked[head * size : (head + 1) * size] = 0
            kernel.assign(masked)
            expected = plain_scores(task)
            assert loss.scores[layer, head] == pytest.approx(expected["loss"], rel=1e-4)
            assert accuracy.scores[layer, head] == pytest.approx(expected["accuracy"])
        kernel.assign(before)
    np.testing.assert_allclose(loss.drops, loss.score - loss.scores)
    assert np.abs(loss.drops).max() > 1e-3


def test_a_shared_block_loses_a_head_in_only_one_layer(tokenizer):
    shared = family_task("albert", tokenizer)
    plain = dataclasses.replace(CONFIG, embedding_size=FAMILIES["albert"]["embedding_size"])
    unshared = make_task("classification", plain, tokenizer)
    weights = {weight.path.replace("block_0/", "block_{}/"): weight for weight in shared.model.weights}
    for weight in unshared.model.weights:
        weight.assign(weights[re.sub(r"block_\d/", "block_{}/", weight.path)])
    expected = leave_one_head_out(unshared, batches_of(unshared))
    ablation = leave_one_head_out(shared, batches_of(shared))
    assert ablation.score == pytest.approx(expected.score, rel=1e-5)
    np.testing.assert_allclose(ablation.scores, expected.scores, rtol=1e-5)
    assert np.ptp(ablation.scores) > 1e-4


def test_both_texts_of_a_pair_count(tokenizer):
    task = make_task("embedding", CONFIG, tokenizer)
    second = {f"second_{name}": array for name, array in task.encode(["d ef", "g"]).items()}
    batch = {**task.encode(["abc", "a b"]), **second, "value": np.array([0.5, 1.0], "float32")}
    ablation = leave_one_head_out(task, [batch], "absolute_error")
    context = blocks_of(task.model)[1].attention.context_tap
    context.transform = lambda x, training: x * np.array([1.0, 0.0], "float32")[:, None, None]
    try:
        expected = task.objective()(task.network(), batch, False)["absolute_error"]
    finally:
        context.transform = None
    assert ablation.scores[1, 1] == pytest.approx(float(expected[0] / expected[1]), rel=1e-5)


def test_an_adapter_behind_the_heads_does_not_read_them_either(tokenizer):
    task = make_task("classification", CONFIG, tokenizer)
    adapter = task.adapt(keras_bert.Lora(rank=2, layers=("attention/output_projection",)))
    for weight in adapter.weights().values():
        weight.assign(np.random.default_rng(0).normal(size=weight.shape))
    batches = batches_of(task)
    adapted = leave_one_head_out(task, batches).scores
    adapter.detach()
    np.testing.assert_allclose(leave_one_head_out(task, batches).scores, adapted, rtol=1e-6)
    adapter.attach()
    task.merge_adapter()
    np.testing.assert_allclose(leave_one_head_out(task, batches).scores, adapted, rtol=1e-4)


def test_an_error_leaves_the_model_as_it_was(classifier, monkeypatch):
    task = classifier
    before, calls = task.predict(TEXTS), []
    objective = type(task.objective())
    measure = objective.measure

    def fail(self, outputs, batch):
        calls.append(batch)
        if len(calls) > 4:
            raise KeyError("in the middle")
        return measure(self, outputs, batch)

    monkeypatch.setattr(objective, "measure", fail)
    with pytest.raises(KeyError, match="in the middle"):
        leave_one_head_out(task, batches_of(task))
    assert task.predict(TEXTS) == before
    assert all(block.attention.context_tap.transform is None for block in blocks_of(task.model))


def test_other_threads_keep_all_heads(classifier):
    task = classifier
    batch, logits = batches_of(task)[1], []
    expected = np.asarray(task.model(task.objective().inputs(task.model, batch)))
    done = threading.Event()

    def read():
        while not done.is_set():
            logits.append(np.asarray(task.model(task.objective().inputs(task.model, batch))))

    thread = threading.Thread(target=read)
    thread.start()
    leave_one_head_out(task, batches_of(task))
    done.set()
    thread.join()
    assert logits
    for array in logits:
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("kind", "rows", "metric", "message"),
    [
        ("classification", 0, "loss", r"^leave_one_head_out\.batches must hold at least one batch of rows, got \[\]$"),
        ("classification", 2, "f1", r"^leave_one_head_out\.metric must be one of \['accuracy', 'loss'\], got 'f1'$"),
        ("pretraining", 2, "loss", "pretraining has no labelled rows"),
    ],
)
def test_wrong_arguments_are_refused(kind, rows, metric, message, tokenizer):
    task = make_task(kind, CONFIG, tokenizer)
    with pytest.raises(ValueError, match=message):
        leave_one_head_out(task, batches_of(task)[:rows], metric)
