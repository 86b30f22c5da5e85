"""A student of a start, made of text: what it learns, what is kept of it, and that a kill costs nothing."""

import dataclasses
import functools
import json
import random

import numpy as np
import pytest

from components.artifacts.standard import Model, TextExamples, Vocabulary
from components.distill import distill
from components.distill_general import distill_general
from components.dsl.errors import InputError
from components.dsl.step_folders import StepFolders, set_progress_sink, set_step_folders
from components.ingest_texts import ingest_texts
from components.sources.text import TextSource
from components.training.model_folder import read_model
from keras_bert.models.encoder import config_of
from keras_bert.options.compression import StateImitation, Student
from keras_bert.options.tables import DistillationSettings
from keras_bert.options.training import Training
from keras_bert.tasks.classification import Classification
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from tests.components.tuning_job import WORDS, eagerly, table

TRAINING = Training(steps=4, batch_size=8, learning_rate=3e-3, seed=3, xla="off")
IMITATION = StateImitation(hidden_states=1.0, relations=1.0)


class KilledError(Exception):
    """As if the process had ended."""


@pytest.fixture(autouse=True)
def no_compilation():
    with eagerly():
        yield
    set_progress_sink(lambda done, total, note: None)
    set_step_folders(StepFolders())


@pytest.fixture(scope="module")
def texts(checkpoint, tmp_path_factory):
    folder, chance = tmp_path_factory.mktemp("texts"), random.Random(0)
    lines = [" ".join(chance.choice(WORDS) for _ in range(chance.randint(7, 9))) for _ in range(40)]
    (folder / "text.txt").write_text("\n".join(lines))
    made = TextExamples(folder / "texts")
    source = TextSource(str(folder / "text.txt"))
    ingest_texts.run(vocabulary=Vocabulary(checkpoint / "vocabulary"), texts=made, source=source, max_length=16)
    return made


def make(checkpoint, texts, folder, **settings):
    student = Model(folder)
    given = {"shape": Student(hidden_size=8), "imitation": IMITATION, "training": TRAINING, **settings}
    distill_general.run(start=Model(checkpoint / "model"), texts=texts, student=student, **given)
    return student


def blocks(task):
    return task.model.get_layer("block_0").get_weights()


def test_a_narrow_student_comes_nearer_and_the_task_goes_on_from_it(checkpoint, texts, line, tmp_path):
    training = dataclasses.replace(TRAINING, steps=4)
    student_folder = make(checkpoint, texts, tmp_path / "begun", training=training)
    history = [json.loads(row) for row in student_folder.file("history.jsonl").read_text().splitlines()]
    for name in ("validation_hidden_states_loss", "validation_relations_loss"):
        losses = [entry[name] for entry in history if name in entry]
        assert losses[-1] < losses[0]
    assert student_folder.counts["layers_from_teacher"] == 0
    task = read_model(student_folder)
    assert (task.name, config_of(task.model).hidden_size) == ("embedding", 8)
    assert not any("projection" in weight.path.split("/")[0] for weight in task.model.weights)
    artifacts, student = line("classification"), Model(tmp_path / "student")
    start = artifacts.load("pretrained")
    teacher = Model(tmp_path / "teacher")
    Classification.build(start.encoder, start.tokenizer, labels=["animal", "plant"], max_length=16).save(teacher.path)
    teacher.seal({})
    # So small a rate leaves it where it began.
    still = table(DistillationSettings, TRAINING, steps=1, learning_rate=1e-12)
    shape = Student(hidden_size=8)
    distill.run(
        teacher=teacher,
        examples=artifacts.examples,
        student=student,
        shape=shape,
        general_student=student_folder,
        distillation=still,
    )
    assert (student.counts["layers_from_text"], student.counts["layers_from_teacher"]) == (1, 0)
    for ours, theirs in zip(*(blocks(model) for model in (read_model(student), task)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_one_with_fewer_parts_starts_from_those_of_the_start(checkpoint, texts, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.recipes.students.STARTING_BATCHES", 2)
    shape = Student(num_heads=1, intermediate_size=16, embedding_rank=8)
    student_folder = make(
        checkpoint, texts, tmp_path / "begun", shape=shape, training=dataclasses.replace(TRAINING, steps=1)
    )
    assert student_folder.counts["layers_from_teacher"] == 1
    config = config_of(read_model(student_folder).model)
    assert (config.hidden_size, config.num_heads, config.head_size, config.embedding_rank) == (16, 1, 8, 8)


@pytest.mark.long
def test_killed_and_started_again_the_bytes_are_the_same(checkpoint, texts, tmp_path, monkeypatch):
    settings = {"imitation": StateImitation(cosine=1.0)}
    whole = make(checkpoint, texts, tmp_path / "whole", **settings)
    monkeypatch.setattr(Trainer, "__init__", functools.partialmethod(Trainer.__init__, checkpoint_seconds=0.0))
    set_step_folders(StepFolders(checkpoints=tmp_path / "checkpoints"))
    fits = []
    steps = TrainingStep.step
    monkeypatch.setattr(
        TrainingStep, "step", lambda self, batches, step: fits.append(step) or steps(self, batches, step)
    )

    def kill(done, total, note):
        if len(fits) == 3:
            raise KilledError

    set_progress_sink(kill)
    with pytest.raises(KilledError):
        make(checkpoint, texts, tmp_path / "killed", **settings)
    set_progress_sink(lambda done, total, note: None)
    again = make(checkpoint, texts, tmp_path / "again", **settings)
    assert fits == [1, 2, 3, 3, 4], "of the third there was no checkpoint yet"
    for name in ("model.keras", "history.jsonl"):
        assert again.file(name).read_bytes() == whole.file(name).read_bytes()


def test_unsuited_imitation_is_refused_before_training(checkpoint, texts, tmp_path):
    rule = "divide the widths of queries, 8 in the student and 16 in the teacher"
    with pytest.raises(InputError, match=rf"^general_distillation\.relation_heads must {rule}, got 3$"):
        make(checkpoint, texts, tmp_path / "student", imitation=StateImitation(relations=1.0, relation_heads=3))
