"""Where a student starts from, and what it learns from its teacher."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit, logit

from components.artifacts.standard import Model
from components.distill import distill
from components.dsl.errors import InputError
from components.dsl.step_folders import set_progress_sink
from components.examples.registry import read_rows
from components.training.model_folder import read_model
from keras_bert.core.config import EncoderConfig
from keras_bert.data.array_batches import ArrayRows
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.models.encoder import build_encoder, config_of
from keras_bert.options.compression import Imitation, Student
from keras_bert.options.tables import DistillationSettings
from keras_bert.recipes.students import make_student
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components import tuning_job
from tests.components.tuning_job import TRAINING, Line, table
from tests.samples import long_but

Lines = Callable[[str], Line]
SETTINGS = {
    "classification": {"labels": ["a", "b"], "pooling": "mean"},
    "multi_label": {"labels": ["a", "b"], "pooling": "cls"},
    "regression": {"pooling": "cls"},
    "token_classification": {"labels": ["B-x", "I-x", "O"]},
    "question_answering": {"stride": 2, "max_query_length": 2, "null_threshold": 1.5},
    "embedding": {"pooling": "cls", "normalize": True},
}


def build(task, num_layers=1, **further):
    tokenizer = Tokenizer([*SPECIAL_TOKENS, "a", "b"], lowercase=True)
    shape = {"num_layers": num_layers, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "max_length": 16}
    encoder = build_encoder(EncoderConfig(vocabulary_size=tokenizer.vocabulary_size, **shape, **further))
    return TASKS[task].build(encoder, tokenizer, max_length=12, **SETTINGS[task])


@pytest.fixture(scope="module")
def teacher():
    return build("classification", num_layers=2)


def weights(task, layer):
    return task.model.get_layer(layer).get_weights()


@pytest.mark.parametrize(
    ("shape", "layers"),
    [(Student(layers=(0,)), [0]), (Student(layers=(1, 0)), [1, 0]), (Student(num_layers=1), [1])],
)
def test_a_student_that_fits_starts_from_layers_of_the_teacher(teacher, shape, layers):
    student, copied = make_student(teacher, shape)
    assert copied == config_of(student.model).num_layers == len(layers)
    for number, layer in enumerate(layers):
        np.testing.assert_equal(weights(student, f"block_{number}"), weights(teacher, f"block_{layer}"))


@pytest.mark.parametrize("task", SETTINGS)
def test_a_student_is_the_same_task_with_the_same_settings_and_head(task):
    teacher = build(task)
    student, copied = make_student(teacher, Student(num_layers=1))
    assert type(student) is type(teacher)
    assert (student.settings(), student.head()) == (teacher.settings(), teacher.head())
    assert student.tokenizer is teacher.tokenizer
    assert copied == 1
    assert config_of(student.model).max_length == 12
    assert student.network().count_params() < teacher.network().count_params()


@pytest.mark.parametrize(
    "shape", [Student(hidden_size=4), Student(num_heads=4), Student(intermediate_size=16, num_layers=1)]
)
def test_one_of_another_shape_starts_from_random_weights(teacher, shape):
    student, copied = make_student(teacher, shape)
    assert copied == 0
    config = config_of(student.model)
    assert (config.hidden_size, config.num_heads, config.intermediate_size) == (
        shape.hidden_size or 8,
        shape.num_heads or 2,
        shape.intermediate_size or 12,
    )
    assert config.num_layers == (shape.num_layers or 2)
    assert not np.array_equal(weights(student, "classifier")[0], weights(teacher, "classifier")[0])


def rows_of(teacher):
    mask = np.array([[1] * 12, [1] * 6 + [0] * 6])
    inputs = {"token_ids": np.array([[2, 5, 6, 3] * 3] * 2) * mask, "segment_ids": 0 * mask, "padding_mask": mask}
    return [{**inputs, "label": np.array([0, 1])}]


@pytest.mark.parametrize(
    "shape",
    [
        Student(num_heads=1),
        Student(intermediate_size=8, layers=(1,)),
        Student(num_heads=1, intermediate_size=4, embedding_rank=3),
    ],
)
def test_one_with_fewer_parts_starts_from_those_that_count(teacher, shape):
    student, copied = make_student(teacher, shape, ArrayRows("classification", rows_of(teacher)[0], 12))
    config = config_of(student.model)
    assert copied == config.num_layers
    assert (config.hidden_size, config.head_size) == (8, 4)
    assert config.intermediate_size == (shape.intermediate_size or 12)
    assert config.embedding_rank == shape.embedding_rank
    theirs = weights(teacher, "block_1")
    # Each weight of a block is a part of the teacher's.
    for ours, whole in zip(weights(student, f"block_{copied - 1}"), theirs, strict=True):
        assert np.isin(ours, whole).all()
    # A student of such a teacher keeps what it has.
    again, copied = make_student(student, Student(num_layers=1))
    assert copied == 1
    assert config_of(again.model).attention_size == config.attention_size


def test_a_shared_block_does_not_lose_parts():
    teacher = build("classification", num_layers=2, shared_layers=True)
    student, copied = make_student(teacher, Student(intermediate_size=8))
    assert copied == 0
    assert config_of(student.model).shared_layers


def test_layers_that_see_a_window_do_so_in_a_student():
    variant = ModernBERT(global_every=2, window=4)
    teacher = build("classification", num_layers=4, num_segments=0, variant=variant)
    for shape, windows in ((Student(num_layers=3), (1,)), (Student(layers=(1,)), ())):
        student, _ = make_student(teacher, shape)
        assert config_of(student.model).variant == ModernBERT(global_every=2, window=4, global_layers=windows)
        ours, theirs = (task.model.get_layer("block_0").attention for task in (student, teacher))
        assert ours.theta == variant.local_theta != theirs.theta
        for name in ("token_embedding", "final_norm", "prediction_head", "classifier"):
            np.testing.assert_equal(weights(student, name), weights(teacher, name))


@pytest.mark.parametrize("task", long_but(("classification",), tuning_job.TASKS))
def test_a_student_of_every_task_learns(line, task):
    artifacts = line(task)
    losses = [model.manifest()["counts"]["validation_loss"] for model in (artifacts.teacher, artifacts.student)]
    assert losses[1] < 2 * losses[0] + 0.01
    student, teacher = artifacts.load("student"), artifacts.load("teacher")
    assert student.head() == teacher.head()
    chosen = dict.fromkeys(("null_threshold", "thresholds"))
    assert {**student.settings(), **chosen} == {**teacher.settings(), **chosen}
    counts = artifacts.student.manifest()["counts"]
    assert counts["layers_from_teacher"] == 1
    assert counts["validation_teacher_distance"] > 0


@pytest.mark.parametrize("shape", [Student(hidden_size=8), Student(num_layers=1)])
def test_a_new_head_starts_from_the_frequencies_where_no_better_is_fitted_and_the_teachers_stays(
    line, tmp_path, monkeypatch, shape
):
    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", lambda self: [{"step": self._step.steps}])
    artifacts, student, trained = line("multi_label"), Model(tmp_path / "student"), Model(tmp_path / "teacher")
    teacher = read_model(artifacts.blank)
    teacher.model.get_layer("classifier").bias.assign([1.0, 2.0])
    teacher.save(trained.path)
    trained.seal({})
    distill.run(
        teacher=trained,
        examples=artifacts.examples,
        student=student,
        shape=shape,
        distillation=DistillationSettings(epochs=3.0, learning_rate=5e-5, precision="float32"),
    )
    made = read_model(student)
    # The teacher's answers hardly differ: a fitted head would save little of the loss of constant ones.
    texts = [row.text for row in read_rows(artifacts.examples, "train")]
    answers = expit(np.stack(list(teacher.outputs(texts)))).sum(axis=0) + 0.5
    expected = logit(answers / (len(texts) + 1)) if shape.hidden_size else weights(teacher, "classifier")[1]
    np.testing.assert_allclose(weights(made, "classifier")[1], expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("shape", "imitation", "message"),
    [
        (Student(num_layers=2), Imitation(), "student: a student must have 1 to 1 of the teacher's layers, got 2"),
        (
            *(Student(num_heads=4), Imitation(attentions=1.0)),
            "distillation.attentions must be 0 where the student has 4 heads and the teacher 2, got 1.0",
        ),
    ],
)
def test_unsuited_shapes_and_imitations_are_refused_before_training(line, tmp_path, shape, imitation, message):
    artifacts = line("classification")
    given = {
        "teacher": artifacts.teacher,
        "examples": artifacts.examples,
        "distillation": table(DistillationSettings, TRAINING, imitation),
    }
    with pytest.raises(InputError) as error:
        distill.run(**given, student=Model(tmp_path / "student"), shape=shape)
    assert str(error.value) == message


@pytest.mark.parametrize("imitation", [0.0, 1.0])
def test_a_general_student_of_another_width_starts_with_a_fitted_head(line, tmp_path, imitation):
    artifacts, shape = line("classification"), Student(hidden_size=8)
    general, student = Model(tmp_path / "general"), Model(tmp_path / "student")
    make_student(read_model(artifacts.pretrained), shape)[0].save(general.path)
    general.seal({})
    settings = table(DistillationSettings, TRAINING, steps=1, learning_rate=1e-9, hidden_states=imitation)
    models = {"teacher": artifacts.teacher, "general_student": general, "student": student}
    with tuning_job.eagerly():
        distill.run(**models, examples=artifacts.examples, shape=shape, distillation=settings)
    # A random head has no bias, and the step moves it by 1e-9.
    assert np.abs(weights(read_model(student), "classifier")[1]).max() > 1e-3


def test_a_narrow_student_imitates_what_stands_between_in_two_stages(line, tmp_path):
    artifacts, student = line("embedding"), Model(tmp_path / "student")
    names = ("hidden_states", "attentions", "relations", "cosine", "vectors", "similarities")
    losses = {**dict.fromkeys(names, 1.0), "intermediate_steps": 0.6}
    settings = table(DistillationSettings, TRAINING, steps=5, learning_rate=1e-3, **losses)
    given = {"teacher": artifacts.blank, "examples": artifacts.examples, "shape": Student(hidden_size=8)}
    reports = []
    set_progress_sink(lambda done, total, note: reports.append((done, total)) if total else None)
    try:
        with tuning_job.eagerly():
            distill.run(**given, student=student, distillation=settings)
    finally:
        set_progress_sink(lambda done, total, note: None)
    # One line of progress for both stages.
    shares = [done / total for done, total in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    history = [json.loads(row) for row in student.file("history.jsonl").read_text().splitlines()]
    # So few steps have an entry each; each stage validates after its half and at its end.
    assert [entry["step"] for entry in history] == [1, 2, 3, 4, 5]
    validations = {f"validation_{name}_loss" for name in names}
    assert [entry["step"] for entry in history if validations <= entry.keys()] == [2, 3, 4, 5]
    rates = [entry["learning_rate"] for entry in history]
    assert rates[2] < rates[1] == rates[3]
    # Nothing of what lay between the two models is kept.
    shape = {weight.path: tuple(weight.shape) for weight in read_model(student).model.weights}
    plain, _ = make_student(artifacts.load("blank"), Student(hidden_size=8))
    assert shape == {weight.path: tuple(weight.shape) for weight in plain.model.weights}
