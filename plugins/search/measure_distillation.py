"""A teacher and a student's shape -> TrainingCost: the time of a distillation step on this machine."""

import statistics
import time
from collections import Counter
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
    examples: Input[list[TaskExamples]],
    cost: Output[TrainingCost],
    shape: Student,
    names: tuple[str, ...] = ("",),
    temperature: float = 1.0,
    distillation: DistillationSettings = DistillationSettings(),
) -> None:
    """Times the first steps that `distill` would make; the student is thrown away.

    `examples` are in the order of `names`, the tasks of the teacher. A step has rows of one task, and each task has a
    student for itself here, which takes as long as that of all. The tasks take turns in proportion to their numbers of
    rows to the power of 1 / `temperature`.

    Seconds depend on this machine and its present load: the step runs once, and equal inputs reuse its result.

    The length of the training does not matter.
    """
    total = 0.0
    counts = Counter[str]()
    seconds: list[float] = []
    turns: list[float] = []
    for name, source in zip(names, examples, strict=True):
        step, steps, rows = _time_task(teacher, name, source, shape, distillation)
        total += step * steps
        seconds.append(step)
        turns.append(rows ** (1 / temperature))
        counts.update(source.features()["counts"])
    mean = statistics.fmean(seconds, weights=turns)
    cost.write(TrainingTimes(mean, max(1, round(total / mean)), dict(counts)))
    cost.counts = {"step": mean}


def _time_task(
    teacher: Model, name: str, examples: TaskExamples, shape: Student, distillation: DistillationSettings
) -> tuple[float, int, int]:
    """The mean seconds of a step with rows of a task, the number of all steps, and the number of rows."""
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.distill import distillation_objective
    from keras_bert.recipes.students import make_student
    from keras_bert.tasks.base import take_part
    from keras_bert.training.step import TrainingStep

    rows = RecordRows(examples.path)
    with reproducible_scope(distillation.seed):
        task = take_part(read_model(teacher), name)
        with input_errors("student: "):
            student, _ = make_student(task, shape, rows, distillation)
        with table_errors("distillation"):
            objective = distillation_objective(task, student, rows, distillation)
        trained = TrainingStep(*objective, distillation, _STEPS)
    batches = rows.training_batches(distillation.micro_batch_size, distillation.seed)
    return *_steady([*_times(trained, batches)]), rows.count


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
