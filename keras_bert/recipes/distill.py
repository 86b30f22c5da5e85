"""Distillation: a smaller student learns from the answers, states and attention of a teacher."""

import keras

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.objectives.base import Objective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.tables import DistillationSettings
from keras_bert.recipes.texts import objective_for
from keras_bert.recipes.train import BatchedRows, Monitor, train
from keras_bert.tasks.base import Task
from keras_bert.training.history import Entry
from keras_bert.training.new_head import fit_head
from keras_bert.training.seeds import seeded_weights
from keras_bert.training.trainer import validation_rows


def distillation_objective(
    teacher: Task, student: Task, rows: BatchedRows, settings: DistillationSettings
) -> tuple[keras.Model, Objective]:
    """The model to train and its objective; with an imitation, the model contains student and teacher.

    Raises FieldError if a loss of the imitation does not fit the models.
    """
    task, network = objective_for(student, rows), student.network()
    if not settings.is_on:
        return network, DistillationObjective(task, None if rows.has_answers else teacher.network(), settings)
    models = (network, teacher.network())
    with seeded_weights(settings.seed):
        objective = ImitationObjective(task, *models, settings, settings, has_answers=rows.has_answers)
    return objective.joint, objective


def distill_student(
    teacher: Task,
    student: Task,
    objective: tuple[keras.Model, Objective],
    rows: BatchedRows,
    settings: DistillationSettings,
    monitor: Monitor,
    *,
    is_copied: bool,
    is_trained: bool,
) -> list[Entry]:
    """Trains a student of `make_student` with `distillation_objective`; returns the history.

    There are two phases if the imitation asks for intermediate steps. `is_copied` says that the student's blocks are
    not random, and `is_trained` that the teacher has learnt the task; if not, its answers stand in the rows.
    """
    has_learnt_head = is_copied and is_trained
    # With an imitation, vectors move towards the teacher's, which the copied head knows.
    if not (settings.is_on and has_learnt_head):
        shuffled = rows.training_batches(validation_rows(rows.max_length), settings.seed)
        fit_head(student, shuffled, teacher=teacher if is_trained else None, is_copied=has_learnt_head)
    network, last = objective
    steps = settings.count_steps(rows.count)
    phases = [(last, steps)]
    if isinstance(last, ImitationObjective) and (first := settings.count_intermediate_steps(steps)):
        phases = [(last.without_answers(), first), (last, steps - first)]
    return train(student, network, phases, rows, settings, monitor)
