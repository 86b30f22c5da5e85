"""Training on rows in memory: its arguments, its seeds, and the weights that it leaves."""

import functools
import random

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.regression import Regression
from keras_bert.training.masks import Masks
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import NonFiniteLossError
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

pytestmark = pytest.mark.usefixtures("eager")

TEXTS = ["good film", "a bad film", "very good", "bad", "a good film", "very bad film"]
LABELS = ["good", "bad"] * 3
QUICK = {"batch_size": 3, "xla": "off", "precision": "float32", "verbose": 0, "epochs": 1}


def classifier(**changes):
    return Classification.build(make_encoder(**changes), make_tokenizer(), labels=["bad", "good"], max_length=8)


def weights_of(task):
    return [weight.numpy() for weight in task.model.weights]


def assert_equal_weights(one, other):
    for weight, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_scores_of_several_labels_use_the_thresholds_of_the_task():
    task = MultiLabelClassification.build(make_encoder(), make_tokenizer(), labels=["a", "b"], max_length=8)
    task.model.get_layer("classifier").kernel.assign(np.zeros((16, 2)))
    task.model.get_layer("classifier").bias.assign([-1.0, 1.0])  # probabilities 0.27 and 0.73
    rows = (TEXTS[:2], [["a"], ["b"]])
    for thresholds, expected in (((0.5, 0.5), 2 / 4), ((0.2, 0.8), 2 / 4), ((0.0, 0.5), 4 / 6), ((None, 1.0), 0.0)):
        task.thresholds = thresholds
        assert keras_bert.evaluate(task, *rows)["micro_f1"] == pytest.approx(expected)


def test_class_weights_are_numbers_in_any_array_or_belong_to_labels():
    start, results = classifier(), []
    for class_weights in ([1.0, 3.0], np.array([1.0, 3.0]), {"good": 3.0}):
        task = classifier()
        task.model.set_weights(start.model.get_weights())
        task.fit(TEXTS, LABELS, class_weights=class_weights, **QUICK)
        results.append(weights_of(task))
    assert_equal_weights(results[0], results[1])
    assert_equal_weights(results[0], results[2])
    for class_weights, message in (
        ({1: 0.1, 2: 0.9}, r"each key of class_weights must be one of \['bad', 'good'\], got 1"),
        ("balanced", r"class_weights\[0\] must be a number, got 'b'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            classifier().fit(TEXTS, LABELS, class_weights=class_weights, **QUICK)
    with pytest.raises(ValueError, match="class_weights must be numbers in the order of the labels, not a dictionary"):
        classifier().objective({1: 0.1, 2: 0.9})


def test_equal_seeds_give_equal_weights_and_students():
    encoder, results = make_encoder(dropout=0.1), {}
    start = encoder.get_weights()
    for run, seed in enumerate((0, 0, 1)):
        encoder.set_weights(start)
        task = Classification.build(encoder, make_tokenizer(), labels=["bad", "good"], max_length=8)
        random_numbers = random.getstate()
        shape = keras_bert.Student(hidden_size=8)
        new = keras_bert.distill(task, TEXTS, student=shape, probabilities=[[0.5, 0.5]] * 6, seed=seed, **QUICK)
        assert random.getstate() == random_numbers, "the random numbers of the user's program stay as they are"
        task.fit(TEXTS, LABELS, seed=seed, **QUICK)
        results[run] = [weights_of(model) for model in (task, new)]
    for one, other in zip(results[0], results[1], strict=True):
        assert_equal_weights(one, other)
    for one, other in zip(results[0], results[2], strict=True):
        kernels = [weights for weights in zip(one, other, strict=True) if weights[0].ndim == 2]
        assert not any(np.array_equal(*weights) for weights in kernels)


def test_a_head_with_weights_of_the_user_is_not_drawn_again():
    task = classifier()
    head = task.model.get_layer("classifier").kernel
    head.assign(np.full(head.shape, 3.0))
    task.fit(TEXTS, LABELS, **QUICK)
    np.testing.assert_allclose(head, 3.0, atol=0.01)


def test_settings_of_a_training_are_refused_where_nothing_is_trained():
    with pytest.raises(ValueError, match=r"quantize\.post_training must be False for epochs, as it trains nothing"):
        keras_bert.quantize(classifier(), TEXTS, post_training=True, epochs=5)


def test_numbers_that_float32_makes_equal_are_refused():
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=8)
    with pytest.raises(ValueError, match=r"^values must differ by far more than float32 rounds them: subtract an offs"):
        task.fit(TEXTS, [1e9 + number for number in range(6)], **QUICK)
    for values in ([0.1] * 6, [1e9 + 1e6 * number for number in range(6)]):
        task.examples(TEXTS, values)


def test_a_divergence_restores_the_weights_from_before():
    task = classifier()
    task.fit(TEXTS, LABELS, **QUICK)
    before = weights_of(task)
    with pytest.raises(NonFiniteLossError, match=r"the model has the weights from before$"):
        task.fit(TEXTS, LABELS, **QUICK | {"learning_rate": 1e30, "epochs": 5})
    assert_equal_weights(weights_of(task), before)


def test_an_interruption_keeps_the_best_weights_of_the_validation_split(monkeypatch):
    task = classifier()
    best = []

    def evaluate(step, *_):
        if len(best) == 2:
            raise KeyboardInterrupt
        best.append(weights_of(task))
        return {"loss": float(len(best)), "accuracy": 1.0 / len(best)}

    monkeypatch.setattr(TrainingStep, "evaluate", evaluate)
    with pytest.raises(KeyboardInterrupt):
        task.fit(TEXTS, LABELS, validation_split=0.5, **QUICK | {"epochs": 4})
    assert_equal_weights(weights_of(task), best[0])
    assert any(not np.array_equal(*weights) for weights in zip(*best, strict=True))


def test_zeros_of_a_pruned_model_stay_and_a_calibration_goes():
    task = classifier(initializer_range=0.02)
    task.calibration = Calibration(2.0, 0.9)
    keras_bert.prune(task, TEXTS, **QUICK)
    assert task.calibration == Calibration()
    task.calibration = Calibration(2.0, 0.9)
    task.fit(TEXTS, LABELS, **QUICK)
    assert Masks(task.model).sparsity() == pytest.approx(0.5, abs=0.01)
    assert task.calibration == Calibration()
    task.calibration = Calibration(2.0, 0.9)
    keras_bert.quantize(task, TEXTS, post_training=True)
    assert task.calibration == Calibration()


@pytest.mark.parametrize("change", ["quantized", "adapted"])
def test_weights_that_another_task_needs_are_not_trained(change):
    first = classifier()
    second = Regression.build(first.encoder, make_tokenizer(), max_length=8)
    if change == "quantized":
        keras_bert.quantize(first, TEXTS, post_training=True)
        reason = "a quantized classification"
    else:
        first.adapt(keras_bert.Lora(rank=2))
        reason = "an adapter"
    numbers = [float(number) for number in range(6)]
    for train in (keras_bert.fit, keras_bert.prune, keras_bert.quantize):
        with pytest.raises(ValueError, match=rf"^Regression\.encoder must not be shared .*, got [\"']{reason}"):
            train(second, TEXTS, numbers, **QUICK)
    if change == "quantized":
        before = weights_of(first)
        second.adapt(keras_bert.Lora(rank=2))
        second.fit(TEXTS, numbers, **QUICK)
        second.drop_adapter()
        assert_equal_weights(weights_of(first), before)
    else:
        first.drop_adapter()
    del first
    second.fit(TEXTS, numbers, **QUICK)


def test_other_number_formats_and_backends_are_refused_before_the_first_step(monkeypatch):
    task = classifier()
    trainings = [task.fit, functools.partial(keras_bert.distill, task, layers=[0])]
    trainings += [functools.partial(verb, task) for verb in (keras_bert.prune, keras_bert.quantize)]
    for setting, formats in (("floatx", "float16"), ("dtype_policy", "mixed_bfloat16")):
        getattr(keras.config, f"set_{setting}")(formats)
        try:
            for train in trainings:
                with pytest.raises(ValueError, match=rf"model must be float32, .*, got \['{formats}'\]"):
                    train(TEXTS, LABELS, **QUICK)
            with pytest.raises(
                ValueError, match=r"Classification\.model must be float32, as Keras' settings, to be expo"
            ):
                task.export("model.onnx")
        finally:
            getattr(keras.config, f"set_{setting}")("float32")
    task.model.layers[-1].dtype_policy = keras.DTypePolicy("float64")
    with pytest.raises(ValueError, match=r"Classification\.model must be float32, .*, got \['float64'\]"):
        task.fit(TEXTS, LABELS, **QUICK)
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(
        ValueError, match=r"^Keras\.backend must be 'tensorflow' for a model to be trained \(KERAS_BACKEND"
    ):
        task.fit(TEXTS, LABELS, **QUICK)
