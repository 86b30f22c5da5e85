"""A teacher and a student's shape -> TrainingCost: the time of a distillation step on this machine."""

import time
from typing import TYPE_CHECKING

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors, table_errors
from components.dsl.step_folders import report_progress
from components.training.model_folder import read_model
from components.training.progress import reproducible_scope
from keras_bert.options.compression import Student
from keras_bert.options.tables import DistillationSettings
from plugins.search.artifacts import TrainingCost, TrainingTimes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keras_bert.data.batches import Batches
    from keras_bert.training.step import TrainingStep

# The most steps to time, and the seconds after which no further step is made.
_STEPS, _SECONDS = 40, 60.0
# A step that takes this many times the median has compiled something.
_COMPILES = 3.0


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="measurement")
def measure_distillation(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    cost: Output[TrainingCost],
    shape: Student,
    distillation: DistillationSettings = DistillationSettings(),
) -> None:
    """Times the first steps that `distill` would make; the student is thrown away.

    Seconds depend on this machine and its present load: the step runs once, and equal inputs reuse its result.

    The length of the training does not matter.
    """
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.distill import distillation_objective
    from keras_bert.recipes.students import make_student
    from keras_bert.training.step import TrainingStep

    started, rows = time.perf_counter(), RecordRows(examples.path)
    with reproducible_scope(distillation.seed):
        teacher_task = read_model(teacher)
        with input_errors("student: "):
            student, _ = make_student(teacher_task, shape, rows, distillation)
        with table_errors("distillation"):
            objective = distillation_objective(teacher_task, student, rows, distillation)
        trained = TrainingStep(*objective, distillation, _STEPS)
    ready = time.perf_counter()
    batches = rows.training_batches(distillation.micro_batch_size, distillation.seed)
    step, steps = _steady([*_times(trained, batches)])
    begin = time.perf_counter() - started - step * steps
    cost.write(TrainingTimes(step, steps, begin, examples.features()["counts"]))
    cost.counts = {"step": step, "building": ready - started}


def _times(step: "TrainingStep", batches: "Batches") -> "Sequence[float]":
    """The seconds of each step, with making its batch."""
    source = iter(step.devices.spread(lambda **shares: batches.after(0, **shares)))
    times: list[float] = []
    while len(times) < _STEPS and (sum(times) < _SECONDS or len(times) < 2):
        report_progress(len(times), _STEPS, "timing steps")
        started = time.perf_counter()
        _, norm = step.step([next(source) for _ in range(step.training.accumulation)], len(times) + 1)
        float(norm)  # waits for the accelerator
        times.append(time.perf_counter() - started)
    return times


def _steady(times: "Sequence[float]") -> tuple[float, int]:
    """The mean seconds of the steps that compiled nothing, and the number of all steps."""
    median = sorted(times)[(len(times) - 1) // 2]
    steady = [seconds for seconds in times if seconds <= _COMPILES * median]
    return sum(steady) / len(steady), len(times)
