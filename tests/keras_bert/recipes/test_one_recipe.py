"""A notebook's model and a job's model from the same rows, settings and seed are equal bit for bit."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import Model
from components.distill import distill
from components.examples.registry import TASK_ROWS, read_rows
from components.fine_tune import fine_tune
from components.prune import prune
from components.quantize import quantize
from components.training.model_folder import read_model
from components.training.tuning import build_task
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.options.compression import Imitation, Student
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Training
from keras_bert.recipes.fit import tune_task
from keras_bert.training.masks import Masks
from tests.components import tuning_job
from tests.components.labelled_rows import CORE_TASKS
from tests.components.tuning_job import QUANTIZATION, Line, table
from tests.samples import long_but

Lines = Callable[[str], Line]

# The last batch of an epoch is not full.
TRAINING = Training(epochs=1.5, batch_size=16, learning_rate=1e-3, seed=5, xla="off")
NOTEBOOK = {**vars(TRAINING), "verbose": 0}
# Metrics of the task and of the file that `export` writes may differ by this.
ROUNDING = {"rel": 0.3, "abs": 0.4}


def columns_of(examples):
    """The training rows as a notebook has them, in their order."""
    task, rows = examples.features()["task"], read_rows(examples, "train")
    if task == "question_answering":
        first = [row.answers[0] if row.answers else None for row in rows]
        return [[row.question for row in rows], [row.context for row in rows], first]
    if task == "retrieval":
        return [[row.query for row in rows], [row.passages[0] for row in rows]]
    if task in ("embedding", "reranking"):
        return [[row.text for row in rows], [row.second_text for row in rows], [float(row.label) for row in rows]]
    answers = [float(row[1]) if task == "regression" else row[1] for row in rows]
    return [[row[0] for row in rows], answers]


def assert_equal(made, artifact, examples):
    """Each weight has the same bits, and the ranges of activations and the tuned settings are the same.

    Tuning must run eagerly where the step did: a compiled model rounds differently.
    """
    stored = read_model(artifact)
    for ours, theirs in zip(made.model.weights, stored.model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)
    assert made.quantization == read_quantization(artifact.path)
    if made.tunes:
        tune_task(made, *TASK_ROWS[made.name].tuning_columns(read_rows(examples, "validation")))
        assert made.settings() == stored.settings()


@pytest.mark.parametrize("name", long_but(["classification"], CORE_TASKS))
def test_every_task_is_fitted_distilled_pruned_quantized_and_exported(line, tmp_path, name):
    artifacts = line(name)
    examples = artifacts.examples
    if name == "retrieval":  # rows in memory have no negatives
        source = dataclasses.replace(tuning_job.write_rows(tmp_path, name), negatives=())
        examples = tuning_job.ingest(tmp_path, artifacts.vocabulary, source)
    rows, given = columns_of(examples), {"examples": examples}
    teacher, student, pruned, quantized = (Model(tmp_path / part) for part in ("fitted", "small", "pruned", "rounded"))
    with tuning_job.eagerly():
        fine_tune.run(
            **given,
            pretrained=artifacts.pretrained,
            model=teacher,
            fine_tuning=table(FineTuningSettings, TRAINING, keep="last"),
        )
        made = build_task(read_model(artifacts.pretrained), examples.features())
        before = keras_bert.evaluate(made, *rows)["loss"]
        made.fit(*rows, **NOTEBOOK)
        assert_equal(made, teacher, examples)
        assert keras_bert.evaluate(made, *rows)["loss"] < before

        distill.run(
            **given,
            teacher=teacher,
            student=student,
            shape=Student(num_layers=1),
            distillation=table(DistillationSettings, TRAINING),
        )
        small = keras_bert.distill(made, *rows, layers=[0], **NOTEBOOK)
        assert_equal(small, student, examples)

        prune.run(**given, student=student, pruned=pruned, pruning=table(PruningSettings, TRAINING))
        keras_bert.prune(small, *rows, **NOTEBOOK)
        assert_equal(small, pruned, examples)

        rounding = table(QuantizationSettings, TRAINING, QUANTIZATION)
        quantize.run(**given, student=pruned, quantized=quantized, quantization=rounding)
        keras_bert.quantize(small, *rows, quantization=QUANTIZATION, **NOTEBOOK)
        assert_equal(small, quantized, examples)
        assert Masks(small.network()).sparsity() >= 0.49, "quantization must keep zeros"

        small.export(tmp_path / "small.tflite", lengths=[16])
        models = keras_bert.load(tmp_path / "small.tflite"), small
        scores, expected = (keras_bert.evaluate(model, *rows) for model in models)
    assert scores.keys() == expected.keys() - {"loss"} != set()
    for metric, score in scores.items():
        assert score == pytest.approx(expected[metric], **ROUNDING)


@pytest.mark.parametrize(
    ("shape", "imitation"),
    [
        (Student(hidden_size=8), Imitation(hidden_states=1.0, intermediate_steps=0.5)),
        pytest.param(Student(num_heads=1), Imitation(), marks=pytest.mark.long),
        pytest.param(Student(embedding_rank=4), Imitation(attentions=1.0), marks=pytest.mark.long),
    ],
)
def test_students_of_other_shapes_are_distilled_alike(line, tmp_path, shape, imitation):
    artifacts, student = line("multi_label"), Model(tmp_path / "student")
    losses = {"distillation": table(DistillationSettings, TRAINING, imitation), "examples": artifacts.examples}
    with tuning_job.eagerly():
        distill.run(**losses, teacher=artifacts.blank, student=student, shape=shape)
        teacher = read_model(artifacts.blank)
        made = keras_bert.distill(
            teacher, *columns_of(artifacts.examples), student=shape, imitation=imitation, **NOTEBOOK
        )
        assert_equal(made, student, artifacts.examples)
