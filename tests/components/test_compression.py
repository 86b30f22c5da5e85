"""Every task with every setting that makes a model smaller, and each pair of such settings, up to a file."""

import functools
import itertools
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.distill import distill
from components.examples.registry import read_rows
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.prune import prune
from components.quantize import quantize
from components.scoring.registry import TASK_SCORING
from keras_bert.export.bundle import load_exported
from keras_bert.options.compression import Pruning, Student
from keras_bert.options.export import Export
from keras_bert.options.quantization import RECIPES
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Training
from tests.components import tuning_job
from tests.components.labelled_rows import CORE_TASKS
from tests.components.tuning_job import table

TRAINING = Training(steps=1, batch_size=8, learning_rate=1e-3, xla="off", precision="float32")
# All widths are multiples of the 32 weights that share a scale in one recipe.
WIDTH = 64
SHAPES = {
    "teacher": None,
    "layers": Student(num_layers=1),
    "heads": Student(num_heads=1),
    "units": Student(intermediate_size=32),
    "width": Student(hidden_size=32),
    "rank": Student(embedding_rank=32),
}
PRUNINGS = {"dense": None, "unstructured": Pruning(), "2:4": Pruning(pattern="2:4")}
NUMBERS = ("float32", *RECIPES)
Small = tuple[Model, TaskExamples]


class Case(NamedTuple):
    """A task, and the names of its settings."""

    task: str
    shape: str
    pruning: str
    numbers: str


CASES = [
    Case(task, [*SHAPES][(row + column) % len(SHAPES)], [*PRUNINGS][(row + 2 * column) % len(PRUNINGS)], numbers)
    for row, task in enumerate(CORE_TASKS)
    for column, numbers in enumerate(NUMBERS)
]
# Outputs of tokens; tests/keras_bert/recipes has those of a row up to a file. `make test-long` tries all.
FEW = {Case("token_classification", "units", "dense", "weights_wi4_block32")}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Task, shape and pruning -> a model that several recipes round, of random weights where these do, and its rows."""

    @functools.cache
    def checkpoint(num_layers):
        folder = tmp_path_factory.mktemp("compression")
        tuning_job.write_checkpoint(folder, num_layers=num_layers, hidden_size=WIDTH)
        return folder

    @functools.cache
    def line(task, num_layers):
        return tuning_job.Line(task, checkpoint(num_layers), tmp_path_factory.mktemp(task))

    @functools.cache
    def make(task, shape, pruning, num_layers=1):
        rows, made = line(task, num_layers), Model(tmp_path_factory.mktemp("small") / "model")
        given = {"examples": rows.examples}
        if (settings := PRUNINGS[pruning]) is not None:
            prune.run(
                **given,
                student=make(task, shape, "dense")[0],
                pruned=made,
                pruning=table(PruningSettings, TRAINING, settings),
            )
            assert 0.4 < made.counts["sparsity"] <= 0.5
        elif (student := SHAPES[shape]) is not None:
            teacher, _ = make(task, "teacher", "dense", 2 if shape == "layers" else 1)
            distillation = table(DistillationSettings, TRAINING)
            distill.run(**given, teacher=teacher, student=made, shape=student, distillation=distillation)
        elif task == "regression":
            # The nearly equal numbers of an untrained model differ by less than four bits keep apart.
            fine_tune.run(
                **given,
                pretrained=rows.pretrained,
                model=made,
                fine_tuning=table(FineTuningSettings, TRAINING, tuning_job.SELECTION),
            )
        else:
            return rows.blank, rows.examples
        return made, rows.examples

    return make


@pytest.fixture
def eagerly(monkeypatch):
    """To compile takes longer than a step, and one batch tells which parts a student could have."""
    monkeypatch.setattr("keras_bert.recipes.students.STARTING_BATCHES", 1)
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_each_pair_of_settings_has_a_case():
    for first, second in itertools.combinations(range(4), 2):
        options = [CORE_TASKS, SHAPES, PRUNINGS, NUMBERS]
        pairs = {(case[first], case[second]) for case in CASES}
        assert pairs == {*itertools.product(options[first], options[second])}
    assert {*CASES} > FEW


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in FEW else pytest.mark.long, id="-".join(case)) for case in CASES]
)
def test_up_to_a_file(small, tmp_path, case):
    model, examples = small(case.task, case.shape, case.pruning)
    if case.numbers != "float32":
        quantized = Model(tmp_path / "quantized")
        settings = table(QuantizationSettings, TRAINING, recipe=case.numbers, calibration_batches=1)
        quantize.run(student=model, examples=examples, quantized=quantized, quantization=settings)
        model = quantized
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(model=model, examples=examples, edge=edge, export=Export(lengths=(), runtimes=("tflite",)))
    task, rows, scoring = load_exported(edge.path), read_rows(examples, "test"), TASK_SCORING[case.task]
    scores = scoring.score(rows, scoring.answer(task, rows), getattr(task, "labels", ()))
    assert all(np.isfinite(score) for score in scores.metrics.values())
