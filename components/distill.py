"""Distillation: a smaller student learns from a fine-tuned teacher."""

import dataclasses
from typing import TYPE_CHECKING

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.training.model_folder import read_model, write_model
from components.training.on_rows import VALIDATIONS, TrainingPhase, reproducible_scope, train_on_rows, training_work
from components.training.students import build_distillation_objective, initialize_student, resume_student
from components.training.tuning import VectorSettings, build_task, count_tuning_rows, start_new_head, tune_task
from keras_bert.options.compression import Distillation, Imitation, Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@component(
    libraries=("keras", "numpy", "scipy", "tensorflow", "tensorflow-text", "threadpoolctl"),
    kind="training",
    distributed=True,
)
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    shape: Student,
    general_student: Input[Model] | None = None,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    training: Training = Training(),
    untrained: VectorSettings | None = None,
) -> None:
    """Trains a student on the labels, on the teacher's answers, and on its states and attention as `imitation` says.

    A general student continues from its weights, with those layers of the teacher's head that fit. Else a student as
    wide as its teacher starts from the teacher's layers; with fewer heads or a narrower feed-forward layer, it keeps
    their most important parts for the first rows. Any other student starts from random weights. The artifact's counts
    `layers_from_text` and `layers_from_teacher` say how many of its blocks were initialized so: all, or none.

    `general_student` is one of this shape that `distill_general` made of the teacher's pre-trained model. With
    `untrained` the teacher is a pre-trained model of any kind, which gets a head with these settings; the answers stand
    in the examples then.

    Raises:
        InputError: the teacher has no such layers, the shape is invalid or differs from the general student's, or a
            loss of the imitation does not fit the models.
    """
    from keras_bert.compress.new_students import measure_by_states
    from keras_bert.models.encoder import config_of

    with reproducible_scope(training.seed):
        teacher_task, measure = read_model(teacher), None
        if untrained is not None:
            teacher_task, measure = build_task(teacher_task, examples.features(), **vars(untrained)), measure_by_states
        if general_student is None:
            task, copied = initialize_student(teacher_task, shape, examples, training, measure)
        else:
            task, copied = resume_student(teacher_task, shape, read_model(general_student)), 0
        is_copied = measure is None and (copied > 0 or general_student is not None)
        # With an imitation, vectors move towards the teacher's, which the copied head knows.
        if not (imitation.is_on and is_copied):
            start_new_head(task, examples, training, teacher=None if measure else teacher_task, is_copied=is_copied)
        history = _train(teacher_task, task, examples, distillation, imitation, training)
    tune_task(task, examples)
    write_model(student, task, history, training.precision)
    student.counts["layers_from_teacher"] = copied
    if general_student is not None:
        student.counts["layers_from_text"] = config_of(task.model).num_layers


def _train(
    teacher: "Task",
    student: "Task",
    examples: TaskExamples,
    distillation: Distillation,
    imitation: Imitation,
    training: Training,
) -> list[dict[str, float]]:
    """Trains the student, in two stages if the settings ask for it; the history counts the steps of both."""
    from keras_bert.compress.imitation import ImitationObjective

    scored = count_tuning_rows(student, examples)
    trained, objective = build_distillation_objective(teacher, student, examples, distillation, imitation)
    if not isinstance(objective, ImitationObjective):
        return train_on_rows(trained, objective, examples, training, scored_after=scored)
    counts = examples.features()["counts"]
    steps = training.count_steps(counts["train"])
    first = imitation.count_intermediate_steps(steps)
    rest = dataclasses.replace(training, steps=steps - first)
    if not first:
        return train_on_rows(trained, objective, examples, rest, scored_after=scored)
    intermediate = dataclasses.replace(training, steps=first)
    earlier, later = (training_work(counts, options, VALIDATIONS) for options in (intermediate, rest))
    alone, phase = objective.without_answers(), TrainingPhase(name="intermediate", later=later)
    history = train_on_rows(trained, alone, examples, intermediate, scored_after=scored, phase=phase)
    last = train_on_rows(trained, objective, examples, rest, scored_after=scored, phase=TrainingPhase(earlier=earlier))
    return [*history, *({**entry, "step": entry["step"] + first} for entry in last)]
