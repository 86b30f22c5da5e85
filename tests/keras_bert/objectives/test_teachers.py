"""Of each task: a student that is narrower and has fewer blocks than its teacher."""

import functools
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import log_softmax
from scipy.stats import entropy

from keras_bert.core.losses import divergence
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation
from keras_bert.tasks.multi_label import MultiLabelClassification
from tests.keras_bert.objectives.kinds import KINDS, build, run
from tests.samples import long_but

NARROW = {"num_layers": 1, "hidden_size": 4, "intermediate_size": 8}


@functools.cache
def models_of(kind):
    """A student and its teacher, which no test changes."""
    return build(kind, **NARROW), build(kind, seed=1)


class Both(keras.Model):
    """A student and its teacher as one model, so that a step might move either."""

    def __init__(self, student, teacher, objective):
        super().__init__()
        self.student, self.teacher, self.objective = student, teacher, objective

    def call(self, batch, training=False):
        total, weight = self.objective(self.student, batch, training)["loss"]
        return ops.broadcast_to(total / weight, (len(batch["token_ids"]),))


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_mixes_that_of_the_task_with_the_distance_from_the_teacher(kind):
    task, batch = KINDS[kind]
    student, teacher = models_of(kind)
    plain = run(task, student, batch)
    outputs = [task.run(model, batch, training=False) for model in (student, teacher)]
    distance = float(ops.sum(task.distances(*outputs, batch, 3.0) * task.loss_weights(batch)))
    assert distance > 1e-3
    for hard in (0.0, 0.25, 1.0):
        sums = run(
            DistillationObjective(task, teacher, Distillation(temperature=3.0, hard_weight=hard)), student, batch
        )
        error, weight = plain["loss"]
        assert sums["loss"] == pytest.approx([hard * error + (1 - hard) * distance, weight], rel=1e-5)
        assert sums["teacher_distance"] == pytest.approx([distance, weight], rel=1e-5)
        others = {name: pair for name, pair in sums.items() if name not in ("loss", "teacher_distance")}
        assert others == {name: pair for name, pair in plain.items() if name != "loss"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_trains_with_what_it_has(kind):
    """A row has a label, answers of a teacher, or both; a teacher that runs answers every row."""
    task, batch = KINDS[kind]
    student, teacher = models_of(kind)
    outputs = [task.run(model, batch, training=False) for model in (student, teacher)]
    rows = len(batch["token_ids"])
    has_label, has_answers = np.resize([1, 0, 1], rows), np.resize([1, 1, 0], rows)
    flagged = {**batch, "has_label": has_label, "has_answers": has_answers, "teacher_answers": outputs[1]}
    losses, weights = (np.asarray(part) for part in (task.losses(outputs[0], batch), task.loss_weights(batch)))
    distances = np.asarray(task.distances(*outputs, batch, 2.0))
    for running, answered in ((None, has_answers), (teacher, np.ones(rows))):
        hard = np.where(has_label, np.where(answered, 0.25, 1.0), 0.0).astype("float32")
        hard = np.broadcast_to(task.spread_rows(hard, batch), weights.shape)
        sums = run(DistillationObjective(task, running, Distillation(hard_weight=0.25)), student, flagged)
        expected = (weights * (hard * losses + (1 - hard) * distances)).sum()
        assert sums["loss"] == pytest.approx([expected, weights.sum()], rel=1e-5)
        counted = weights * np.asarray(task.spread_rows(answered.astype("float32"), batch))
        assert sums["teacher_distance"] == pytest.approx([(distances * counted).sum(), counted.sum()], rel=1e-5)


@pytest.mark.parametrize("kind", long_but(("classification", "question_answering", "retrieval"), KINDS))
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
def test_gradients_reach_the_student_alone(kind):
    task, batch = KINDS[kind]
    student, teacher = build(kind, **NARROW), build(kind, seed=1)
    both = Both(student, teacher, DistillationObjective(task, teacher, Distillation(hard_weight=0.0)))
    both.compile(keras.optimizers.SGD(0.1), loss=lambda _, output: output, run_eagerly=True)
    before = [model.get_weights() for model in (student, teacher)]
    both.train_on_batch(batch, np.zeros(len(batch["token_ids"])))
    moved = [weight.path for weight, was in zip(student.weights, before[0], strict=True) if np.any(weight != was)]
    assert {"token_embedding/embeddings", "block_0/feed_forward/intermediate/kernel"} <= set(moved)
    assert len(both.trainable_variables) == len(student.trainable_variables) + len(teacher.trainable_variables)
    for weight, was in zip(teacher.get_weights(), before[1], strict=True):
        np.testing.assert_array_equal(weight, was)


def test_the_teacher_has_no_dropout_while_the_student_trains():
    task, batch = KINDS["token_classification"]
    quiet = {"dropout": 0.0, "attention_dropout": 0.0}

    def losses(student, teacher):
        objective = DistillationObjective(task, teacher, Distillation(hard_weight=0.0))
        return {float(objective(student, batch, training=True)["loss"][0]) for _ in range(3)}

    student, teacher = (build("token_classification", **settings) for settings in (quiet, {"dropout": 0.5}))
    # The head has dropout of its own.
    student.get_layer("classifier_dropout").rate = 0.0
    assert len(losses(student, teacher)) == 1
    assert len(losses(teacher, student)) == 3


def test_another_task_teacher_or_setting_is_another_objective():
    task, _ = KINDS["classification"]
    teacher, other = build("classification"), build("classification", seed=1)
    other.set_weights(teacher.get_weights())
    identity = DistillationObjective(task, teacher, Distillation()).identity()
    assert {**identity, "teacher": None} == {
        "class": "DistillationObjective",
        "task.class": "ClassificationObjective",
        "task.class_weights": (0.5, 3.0, 1.25),
        "temperature": 2.0,
        "hard_weight": 0.5,
        "teacher": None,
    }
    assert DistillationObjective(task, other, Distillation()).identity() == identity
    changed = DistillationObjective(task, other, Distillation(temperature=3.0)).identity()
    assert changed == {**identity, "temperature": 3.0}
    tags = DistillationObjective(KINDS["token_classification"].objective, other, Distillation()).identity()
    assert tags == {**identity, "task.class": "TokenClassificationObjective"}
    other.get_layer("classifier").bias.assign([2.0, -1.0, 0.5])
    assert DistillationObjective(task, other, Distillation()).identity()["teacher"] != identity["teacher"]


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_divergence_is_t_squared_kl_of_the_teacher_from_the_student(temperature):
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(2, 4, 3)).astype("float32") * 3
    expected = entropy(
        np.exp(log_softmax(teacher / temperature, axis=1)), np.exp(log_softmax(student / temperature, axis=1)), axis=1
    )
    np.testing.assert_allclose(divergence(student, teacher, temperature), temperature**2 * expected, rtol=1e-4)


def test_the_same_logits_have_no_divergence_and_huge_ones_no_nan():
    logits = np.array([[1e4, -1e4], [3.0, 3.0]], "float32")
    np.testing.assert_allclose(divergence(logits, logits, 2.0), 0.0, atol=1e-6)
    assert np.isfinite(divergence(logits[:, ::-1], logits, 2.0)).all()


LOGITS = np.array([[[1.0, 3.0], [5.0, 0.0], [9.0, 9.5]], [[0.0, 1.0], [2.0, 0.5], [1.0, 4.0]]], "float32")
MASK = np.array([[1, 1, 0], [1, 1, 1]])


def labels(name, outputs, **batch):
    return {key: values.tolist() for key, values in KINDS[name].objective.labels_from(outputs, batch).items()}


def test_rows_words_and_questions_get_the_likeliest_answers():
    assert labels("classification", LOGITS[0]) == {"label": [1, 0, 1]}
    assert labels("token_classification", LOGITS, label=np.array([[-1, 0, -1], [1, -1, 0]])) == {
        "label": [[-1, 0, -1], [1, -1, 1]]
    }
    assert labels("question_answering", LOGITS, padding_mask=MASK) == {"positions": [[1, 0], [1, 2]]}
    assert labels("regression", np.array([[0.5], [-2.0]])) == {"value": [0.5, -2.0]}
    assert labels("embedding", np.array([0.5, -0.25])) == {"value": [0.5, -0.25]}


def test_texts_get_the_labels_that_reach_the_teachers_thresholds():
    logits = np.array([[-1.0, 3.0, -0.5], [-2.0, 9.0, 0.5]], "float32")
    assert labels("multi_label", logits) == {"label": [[0, 1, 0], [0, 1, 1]]}
    teacher = MultiLabelClassification(
        build("multi_label"), SimpleNamespace(vocabulary_size=20), labels=["a", "b", "c"], max_length=8
    )
    teacher.thresholds = [0.25, None, 0.5]
    assert teacher.objective().labels_from(logits, {})["label"].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (teacher.decide(logits) == [[True, False, False], [False, False, True]]).all()


@pytest.mark.parametrize("name", KINDS)
def test_outputs_run_along_the_tokens_where_the_objective_says_so(name):
    objective, batch = KINDS[name].objective, KINDS[name].batch
    outputs = np.asarray(objective.run(build(name), batch, training=False))
    along_tokens = outputs.ndim > 1 and outputs.shape[1] == batch["token_ids"].shape[1]
    assert along_tokens == objective.has_token_outputs
