"""Static students in a job: equal to those of a notebook, quantized and exported; what a job may not say."""

import re

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import EdgeModel, Model, Vocabulary
from components.distill import distill
from components.dsl.errors import InputError
from components.export_model import export_model
from components.quantize import quantize
from components.training.model_folder import read_model
from keras_bert.options.export import Export
from keras_bert.options.tables import DistillationSettings, QuantizationSettings
from keras_bert.tasks.retrieval import Retrieval
from pipeline.job.files import make_settings
from pipeline.settings.graphs import check_sizes
from plugins.static.models import distill_static
from plugins.static.settings import StaticStudent
from plugins.vectors.capability import TeacherCapability
from plugins.vectors.settings import VectorTeacher
from plugins.vectors.steps import TaughtVectors, adopt_model, embed_texts
from tests.components import tuning_job
from tests.components.tuning_job import QUANTIZATION, WORDS, table
from tests.keras_bert.recipes.test_texts import cosine

TRAINING = {
    **StaticStudent.training,
    "epochs": 5.0,
    "learning_rate": 3e-2,
    "batch_size": 16,
    "seed": 5,
    "xla": "off",
}
LINES = [f"{first} {second}" for first in WORDS[:8] for second in WORDS[4:8]]


@pytest.mark.parametrize(("width", "bits"), [(None, None), (4, None), (4, 4)])
def test_a_notebooks_static_student_and_a_jobs_are_equal_bit_for_bit(tmp_path, width, bits):
    tuning_job.write_checkpoint(tmp_path)
    vocabulary, teacher = Vocabulary(tmp_path / "vocabulary"), Model(tmp_path / "adopted")
    student, quantized, taught = (
        Model(tmp_path / "student"),
        Model(tmp_path / "quantized"),
        TaughtVectors(tmp_path / "t"),
    )
    (tmp_path / "texts.txt").write_text("\n".join(LINES))
    with tuning_job.eagerly():
        examples = tuning_job.ingest(tmp_path, vocabulary, tuning_job.write_rows(tmp_path, "retrieval"))
        adopt_model.run(pretrained=Model(tmp_path / "model"), examples=examples, model=teacher)
        source = VectorTeacher(texts=str(tmp_path / "texts.txt")).source()
        embed_texts.run(vocabulary=vocabulary, examples=examples, taught=taught, source=source, teacher=teacher)
        shape, settings = StaticStudent(width=width, bits=bits), DistillationSettings(**TRAINING)
        distill.run(teacher=teacher, examples=taught, student=student, shape=shape, distillation=settings)
        ours = read_model(student)
        assert isinstance(ours, Retrieval)
        held_out = next(text for text in LINES if text not in training_texts(ours, taught))
        texts = [text for text in LINES if text != held_out]
        made = distill_static(read_model(teacher), texts, width=width, bits=bits, verbose=0, **TRAINING)
        assert_equal(made, ours)
        assert made.space == ours.space == read_model(teacher).space
        assert cosine(made.predict(texts), read_model(teacher).predict(texts)) > 0.9

        rounding = table(QuantizationSettings, QUANTIZATION, batch_size=16, xla="off", seed=5, epochs=1.0)
        quantize.run(student=student, examples=taught, quantized=quantized, quantization=rounding)
        options = {"batch_size": 16, "xla": "off", "seed": 5, "verbose": 0, "precision": rounding.precision}
        keras_bert.quantize(made, texts, quantization=QUANTIZATION, **options)
        assert_equal(made, read_model(quantized))
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(model=quantized, examples=examples, edge=edge, export=Export(runtimes=("tflite", "onnx")))
    for name in ("model.tflite", "model_float32.tflite", "model.onnx"):
        vectors = keras_bert.load(edge.path / name).predict(texts)
        # Four columns of int8 are coarse.
        least = 0.99 if name == "model.tflite" else 0.999
        np.testing.assert_array_less(least, (vectors * ours.predict(texts)).sum(axis=1), err_msg=name)


def training_texts(task, taught):
    """The texts of the training split."""
    from keras_bert.data.task_batches import RecordRows

    rows = {tuple(task.encode([text])["token_ids"][0]): text for text in LINES}
    batches = RecordRows(taught.path).training_batches(4, 0).epoch().as_numpy_iterator()
    return {
        rows[tuple(ids[mask == 1])]
        for batch in batches
        for ids, mask in zip(batch["token_ids"], batch["padding_mask"], strict=True)
    }


def assert_equal(made, other):
    for ours, theirs in zip(made.model.weights, other.model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)


@pytest.fixture
def job(tmp_path):
    """The tables of a job."""
    tuning_job.write_checkpoint(tmp_path)
    tuning_job.write_rows(tmp_path, "retrieval")
    return {
        "max_length": 16,
        "checkpoint": {"path": str(tmp_path / "model")},
        "examples": {"task": "retrieval", "train": str(tmp_path / "queries.jsonl")},
        "student": {"kind": "static"},
        "teacher": {},
    }


def test_the_training_of_a_job_is_that_of_a_notebook_unless_the_job_says_otherwise(job):
    assert make_settings(job).distillation == DistillationSettings(**StaticStudent.training)
    changed = make_settings({**job, "distillation": {"epochs": 2.0, "learning_rate": 1e-4}}).distillation
    assert changed == DistillationSettings(**{**StaticStudent.training, "epochs": 2.0, "learning_rate": 1e-4})
    assert make_settings({**job, "student": {"num_layers": 1}}).distillation == DistillationSettings()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"teacher": None}, "student.kind must be left out without [teacher], as a static model learns vectors alone"),
        ({"student": {"kind": "statik"}}, "student.kind must be one of ['static'], got 'statik'"),
        ({"student": {"kind": "static", "layers": [0]}}, "student.layers must be left out where kind is 'static'"),
        ({"student": {"kind": "static", "width": 0}}, "student.width must be positive, got 0"),
        ({"pruning": {}}, "pruning must be left out where student.kind is 'static', as a text has few of its vectors"),
        (
            {"student": {"kind": "static", "bits": 4}},
            "quantization must be a table with a recipe of integers that does not round",
        ),
        (
            {"student": {"kind": "static", "bits": 4}, "quantization": {"recipe": "static_wi8_ai16"}},
            "quantization must be a table with a recipe of integers that does not round all activations",
        ),
        ({"student": {"kind": "static", "bits": 4, "width": 3}}, "student.width must be even where bits is 4, got 3"),
        ({"student": {"kind": "static", "bits": 8}}, "student.bits must be 4, got 8"),
        ({"quantization": {"float_layers": ["x"]}}, "quantization.float_layers must be left out where student.kind is"),
    ],
)
def test_refuses_tables_that_suit_no_static_student(job, change, message):
    tables = {name: value for name, value in {**job, **change}.items() if value is not None}
    with pytest.raises(InputError, match=re.escape(message)):
        make_settings(tables)


def test_refuses_a_width_above_that_of_a_checkpoint_which_is_read_with_the_data(job, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 384}')
    wide = {"kind": "static", "width": 385}
    tables = {**job, "checkpoint": {"path": str(tmp_path)}, "student": wide}
    with pytest.raises(InputError, match=r"student.width must be at most 384, the width of the checkpoint, got 385"):
        check_sizes(make_settings(tables))
    with_sizes = {**tables, "student": {"num_layers": 1}, "teacher": {"sizes": [{"name": "small", "student": wide}]}}
    settings = make_settings(with_sizes)
    check_sizes(settings)
    with pytest.raises(InputError, match=r"student.width must be at most 384, the width of the checkpoint, got 385"):
        TeacherCapability().check_rows(settings.teacher, settings, {})
