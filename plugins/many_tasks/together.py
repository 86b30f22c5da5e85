"""The recipes of several tasks together, over rows wherever they come from."""

import copy
from collections.abc import Callable, Mapping, Sequence

import keras

from keras_bert.compress.students import copy_head
from keras_bert.core.checks import check
from keras_bert.models.encoder import input_names
from keras_bert.options.compression import Student
from keras_bert.options.tables import DistillationSettings, FineTuningSettings
from keras_bert.recipes.distill import distill_student, distillation_objective
from keras_bert.recipes.fit import start_new_head
from keras_bert.recipes.students import make_student
from keras_bert.recipes.train import BatchedRows, Monitor
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras
from keras_bert.training.history import Entry
from keras_bert.training.new_head import FittedHead, fit_head
from keras_bert.training.trainer import validation_rows
from plugins.many_tasks.joint import named_apart
from plugins.many_tasks.rows import MixedRows
from plugins.many_tasks.task import ManyTasks


def start_heads(
    many: ManyTasks,
    rows: Mapping[str, BatchedRows],
    settings: FineTuningSettings,
    class_weights: Mapping[str, Sequence[float] | None],
) -> dict[str, FittedHead]:
    """Starts each head that is new, see `keras_bert.recipes.fit.start_new_head`; returns those that were fitted."""
    heads = {}
    for name, task in many.tasks.items():
        head = start_new_head(task, rows[name], settings, class_weights[name])
        if head is not None:
            heads[name] = head
            if head.is_kept:
                task.drawn_weights = {}
    return heads


def distill_together(
    teacher: ManyTasks,
    teachers: Mapping[str, Task],
    rows: Mapping[str, BatchedRows],
    mixed: MixedRows,
    shape: Student,
    settings: DistillationSettings,
    monitor: Monitor,
    prepare: Callable[[str, Task], None] = lambda name, task: None,
) -> tuple[ManyTasks, int, list[Entry]]:
    """Trains one student of all tasks; returns it, the number of its blocks from the teacher, and the history.

    `teachers` answer in place of `teacher` if there are any; `prepare` sets what a task learns from its rows.
    """
    answering = _join_teachers(teacher, teachers) if teachers else teacher
    small, copied = make_student(teacher, shape, mixed, settings)
    assert isinstance(small, ManyTasks)
    for name, task in small.tasks.items():
        if copied:
            copy_head(task.network(), teacher.part(name).network())
        prepare(name, task)
        batches = rows[name].training_batches(validation_rows(task.max_length), settings.seed)
        fit_head(task, batches, teacher=(teachers or teacher.tasks)[name], is_copied=bool(copied))
    objective = distillation_objective(answering, small, mixed, settings)
    with named_apart(small.model):
        history = distill_student(
            answering, small, objective, mixed, settings, monitor, is_copied=copied > 0, is_trained=True
        )
    return small, copied, history


def _join_teachers(teacher: ManyTasks, teachers: Mapping[str, Task]) -> ManyTasks:
    """`teacher` with a model that runs the network of another teacher for each task."""
    complete = set(teachers) == set(teacher.tasks)
    check("distill", "teachers", complete, f"have one of {', '.join(teacher.tasks)}", list(teachers))
    names = input_names(teacher.model)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    outputs = {}
    for name, task in teachers.items():
        check_keras(task, "a teacher")
        same = task.name == teacher.part(name).name and input_names(task.model) == names
        same = same and task.tokenizer.vocabulary_size == teacher.tokenizer.vocabulary_size
        rule = f"be a {teacher.part(name).name} that reads the tokens of the student"
        check("distill", f"teachers[{name!r}]", same, rule, task.name)
        outputs[name] = task.network()(inputs)
    joined = copy.copy(teacher)
    joined.model = keras.Model(inputs, outputs, name="teachers")
    return joined
