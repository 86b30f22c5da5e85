"""Distillation: a smaller student learns from a fine-tuned teacher."""

import dataclasses
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import VALIDATIONS, Stage, train_on_rows
from components.training.progress import training_work
from components.training.students import begin_student, find_objective
from components.training.text_students import go_on
from components.training.tuning import finish, rows_to_finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.student import Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    shape: Student,
    begun: Input[Model] | None = None,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    training: Training = Training(),
) -> None:
    """Trains a student on the labels, on what the teacher thinks of every row, and on how it comes to think so.

    A student that has begun on text goes on from there, with those layers of the teacher's head that fit. Else one as
    wide as its teacher starts from the teacher's layers, and where it has fewer heads or a narrower feed-forward layer
    from the parts of them that count most for the first rows; another one from random weights. The artifact's counts
    `layers_from_text` and `layers_from_teacher` say which: of its blocks all, or none.

    Args:
        teacher: of any task.
        examples: the labelled rows, or what `answer_rows` made of them.
        student: the smaller model.
        shape: how the student differs from the teacher.
        begun: a student of this shape that `distill_start` made, of what the teacher was fine-tuned from.
        distillation: temperature and weights of the two losses.
        imitation: weights of further losses between the two models; without any, there are these two.
        training: how long and how to train.

    Raises:
        InputError: the teacher has no such layers, the shape is none or not that of `begun`, or what is to be imitated
            does not go with the models.
    """
    from keras_bert.models.encoder import config_of
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        master = read_model(teacher)
        if begun is None:
            pupil, copied = begin_student(master, shape, examples, training)
        else:
            pupil, copied = go_on(master, shape, read_model(begun)), 0
        history = _train(master, pupil, examples, distillation, imitation, training)
    finish(pupil, examples)
    write_model(student, pupil, history, training.precision)
    student.counts["layers_from_teacher"] = copied
    if begun is not None:
        student.counts["layers_from_text"] = config_of(pupil.model).num_layers


def _train(
    teacher: "Task",
    student: "Task",
    examples: TaskExamples,
    distillation: Distillation,
    imitation: Imitation,
    training: Training,
) -> list[dict[str, float]]:
    """Trains the student, in two stages where the settings say so; the history counts the steps of both."""
    from keras_bert.compress.imitation import ImitationObjective
    from keras_bert.data.records import read_features

    scored = rows_to_finish(student, examples)
    trained, objective = find_objective(teacher, student, examples, distillation, imitation)
    if not isinstance(objective, ImitationObjective):
        return train_on_rows(trained, objective, examples, training, scored_after=scored)
    counts = read_features(examples.path)["counts"]
    steps = training.count_steps(counts["train"])
    first = min(max(1, round(imitation.intermediate_steps * steps)), steps - 1) if imitation.intermediate_steps else 0
    rest = dataclasses.replace(training, steps=steps - first)
    if not first:
        return train_on_rows(trained, objective, examples, rest, scored_after=scored)
    begun = dataclasses.replace(training, steps=first)
    done, to_come = (training_work(counts, each, VALIDATIONS) for each in (begun, rest))
    alone, stage = objective.without_answers(), Stage(name="intermediate", later=to_come)
    history = train_on_rows(trained, alone, examples, begun, scored_after=scored, stage=stage)
    last = train_on_rows(trained, objective, examples, rest, scored_after=scored, stage=Stage(earlier=done))
    return [*history, *({**entry, "step": entry["step"] + first} for entry in last)]
