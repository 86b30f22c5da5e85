import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.models.saving import load_model, save_model
from keras_bert.objectives.pretraining import PretrainingObjective
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from tests.keras_bert.models.test_optimizer import ReferenceAdamW
from tests.keras_bert.training.small import (
    BATCH,
    LinearObjective,
    Rows,
    fit,
    linear,
    masked_model,
    rows,
    small_classifier,
)
from tests.samples import long_but


@pytest.mark.parametrize(("accumulation", "fresh"), [(1, [1, 1, 3, 3, 3, 3]), (2, [1, 2, 2, 2, 2, 2])])
def test_the_last_step_of_a_new_shape(accumulation, fresh):
    # Batches of 2, 2 and 1 rows.
    training, steps = Training(batch_size=2 * accumulation, accumulation=accumulation, xla="off"), []
    step = TrainingStep(linear(), LinearObjective(), training, 6)
    assert step.fresh_step == 0
    columns = {name: np.concatenate([column, column, column[:1]]) for name, column in BATCH.items()}
    batches = iter(Rows(columns, 2).after(0))
    for number in range(1, 7):
        step.step([next(batches) for _ in range(accumulation)], number)
        steps.append(step.fresh_step)
    assert steps == fresh


def test_evaluation_weighs_every_row_alike():
    model = small_classifier(dropout=0.3)
    step = TrainingStep(model, ClassificationObjective(), Training(xla="off"), 1)
    whole, parts = step.evaluate(rows(33, batch_size=33)), step.evaluate(rows(33))
    assert parts == pytest.approx(whole, rel=1e-6)
    assert whole.keys() == {"loss", "accuracy"}
    inputs = rows(33).columns
    right = np.asarray(model({name: inputs[name] for name in model.input})).argmax(-1) == inputs["label"]
    assert whole["accuracy"] == pytest.approx(np.mean(right))


def test_a_step_against_numpy():
    # A repeated id, and gradients far beyond the norm: the table's gradient must be whole when it is clipped.
    model = linear()
    reference = ReferenceAdamW(model.get_weights(), [True], weight_decay=0.02, clip_norm=1e-6)
    training = Training(learning_rate=0.1, warmup=0, weight_decay=0.02, clip_norm=1e-6, xla="off")
    step = TrainingStep(model, LinearObjective(), training, 1)
    total = float(np.sum(model(BATCH["token_ids"])))
    (sums,), norm = step.step([BATCH], 1)
    gradient = np.bincount(BATCH["token_ids"].ravel(), minlength=5)[:, None] / 16 * np.ones((1, 2))
    reference.apply([gradient], 0.1)
    np.testing.assert_allclose(model.get_weights()[0], reference.weights[0], rtol=1e-4, atol=1e-7)
    sums_by_name = {name: tuple(map(float, pair)) for name, pair in sums.items()}
    assert sums_by_name == {"loss": pytest.approx((total, 16), rel=1e-5), "tokens": (8, 1)}
    assert float(norm) == pytest.approx(np.sqrt((gradient**2).sum()), rel=1e-6), "it is told before it is clipped"
    assert step.learning_rate() == pytest.approx(0.1)


@pytest.mark.parametrize(
    "training",
    [
        Training(learning_rate=0.1, warmup=0.5, xla="off"),
        Training(learning_rate=0.1, warmup=0.5, xla="off", ema=0.5),
        Training(learning_rate=0.1, warmup=0.5, xla="off", batch_size=2, accumulation=2),
    ],
    ids=["plain", "mean", "parts"],
)
def test_steps_go_on_from_their_arrays_bit_for_bit(training):
    parts = [BATCH] * training.accumulation

    def make():
        keras.utils.set_random_seed(0)
        return TrainingStep(linear(), LinearObjective(), training, 6)

    def walk(step, numbers):
        for number in numbers:
            step.step(parts, number)

    whole, first, second = make(), make(), make()
    walk(whole, range(1, 7))
    walk(first, range(1, 4))
    walk(second, range(1, 2))
    second.set_arrays(first.arrays())
    walk(second, range(4, 7))
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(second.arrays()[name], array)
    assert second.learning_rate() == whole.learning_rate()


def test_weights_are_those_of_the_mean_and_something_is_evaluated_on():
    step = TrainingStep(linear(), LinearObjective(), Training(learning_rate=0.1, ema=0.5, xla="off"), 2)
    step.step([BATCH], 1)
    current, mean = step.model.get_weights()[0], step.weights()["0"]
    assert not np.array_equal(mean, current)
    np.testing.assert_array_equal(step.model.get_weights()[0], current)
    step.set_weights({"0": mean})
    np.testing.assert_array_equal(step.model.get_weights()[0], mean)
    nothing = Rows({name: column[:0] for name, column in BATCH.items()}, 2)
    with pytest.raises(ValueError, match="at least one batch to evaluate on, got none"):
        TrainingStep(linear(), LinearObjective(), Training(xla="off"), 1).evaluate(nothing)


def test_weights_that_the_objective_does_not_use_stay():
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    used, unused = TokenEmbedding(5, 2, name="used"), TokenEmbedding(5, 2, name="unused")
    model = keras.Model(inputs, {"used": used(inputs), "unused": unused(inputs)})
    before = [layer.get_weights()[0] for layer in (used, unused)]

    class Objective(LinearObjective):
        def __call__(self, model, batch, training):
            return super().__call__(lambda ids: model(ids)["used"], batch, training)

    TrainingStep(model, Objective(), Training(xla="off"), 1).step([BATCH], 1)
    assert not np.array_equal(used.get_weights()[0], before[0])
    np.testing.assert_array_equal(unused.get_weights()[0], before[1])


def weights_after(steps, training, **options):
    model, history = fit(steps, training=training, log_every=1, **options)
    return model.get_weights(), history


@pytest.fixture(scope="module")
def exact():
    """Eight steps in float32, all at once and without XLA."""
    return weights_after(8, Training(learning_rate=3e-3, xla="off"))


# By class, so that parts of one batch differ in weight.
WEIGHED = {"objective": ClassificationObjective((1.0, 5.0))}
CLIPPED = {"learning_rate": 1e-3, "clip_norm": 0.05, "xla": "off"}


@pytest.fixture(scope="module")
def whole():
    return weights_after(5, Training(**CLIPPED), **WEIGHED)


# Of 8 rows, and of one.
@pytest.mark.parametrize("accumulation", long_but([2], [2, 16]))
def test_parts_make_the_step_of_the_whole_batch(whole, accumulation):
    parts = weights_after(5, Training(**CLIPPED, accumulation=accumulation), **WEIGHED)
    for left, right in zip(whole[1], parts[1], strict=True):
        assert right == pytest.approx(left, rel=1e-5)
    for left, right in zip(whole[0], parts[0], strict=True):
        np.testing.assert_allclose(left, right, atol=1e-5)


def test_a_step_that_overflows_is_left_out_and_counted():
    class Overflowing(LinearObjective):
        def __call__(self, model, batch, training):
            total, weight = super().__call__(model, batch, training)["loss"]
            return {"loss": (total * tf.where(batch["token_ids"][0, 0] == 4, 1e35, 1.0), weight)}

    columns = {name: np.concatenate([column] * 3) for name, column in BATCH.items()}
    columns["token_ids"][2:4] = 4
    model, seen = linear(), []
    training = Training(learning_rate=0.01, warmup=0, precision="float16", xla="off")
    trainer = Trainer(
        TrainingStep(model, Overflowing(), training, 3),
        Rows(columns, 2),
        validation=Rows(BATCH, 2),
        on_progress=lambda *_: seen.append(model.get_weights()[0]),
        log_every=1,
        validations=1,
    )
    history = trainer.fit()
    assert [entry["skipped_steps"] for entry in history] == [0, 1, 1]
    assert [entry["loss_scale"] for entry in history] == [2**15, 2**14, 2**14]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])


def test_the_running_mean_of_the_weights():
    model, seen = linear(), []
    mean = model.get_weights()[0]
    step = TrainingStep(model, LinearObjective(), Training(learning_rate=0.1, warmup=0, ema=0.3, xla="off"), 4)
    for number in range(1, 5):
        step.step([BATCH], number)
        seen.append(model.get_weights()[0])
        decay = min(0.3, (1 + number) / (10 + number))
        mean = decay * mean + (1 - decay) * seen[-1]
    step.swap_mean()
    np.testing.assert_allclose(model.get_weights()[0], mean, rtol=1e-5)
    assert not np.allclose(seen[-1], mean, rtol=1e-3)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_other_precisions_train_alike_and_leave_float32(exact, precision, tmp_path):
    model, history = fit(8, training=Training(learning_rate=3e-3, precision=precision, xla="off"), log_every=1)
    losses = [[entry["loss"] for entry in entries] for entries in (exact[1], history)]
    assert losses[1] != losses[0]
    np.testing.assert_allclose(losses[1], losses[0], atol=0.03)
    assert all(weight.dtype == np.float32 for weight in model.get_weights())
    save_model(model, tmp_path / "rough.keras")
    assert {layer.dtype_policy.name for layer in load_model(tmp_path / "rough.keras").layers} == {"float32"}


@pytest.mark.parametrize("xla", long_but(["parts"], ["parts", "whole"]))
def test_xla_trains_alike(exact, xla):
    _, history = weights_after(8, Training(learning_rate=3e-3, xla=xla))
    for left, right in zip(exact[1], history, strict=True):
        assert right == pytest.approx(left, abs=1e-5)


def test_a_batch_without_a_masked_token():
    model = masked_model()
    ids = np.full((4, 6), 9, "int32")
    nothing = {name: np.zeros((4, 2), kind) for name, kind in (("mask_positions", "int32"), ("mask_ids", "int32"))}
    batch = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1, **nothing}
    batch["mask_weights"] = np.zeros((4, 2), "float32")
    step = TrainingStep(model, PretrainingObjective(next_sentence=False), Training(weight_decay=0.0, xla="off"), 1)
    before = model.get_weights()
    (sums,), norm = step.step([{name: tf.constant(value) for name, value in batch.items()}], 1)
    assert [float(value) for value in sums["masked_loss"]] == [0.0, 0.0]
    assert float(norm) == 0
    for left, right in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
