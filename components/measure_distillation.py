"""A teacher and a student's shape -> TrainingCost: what a step of its distillation takes on this machine."""

import json
import time
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.artifacts.training_cost import TRAINING_COST_FILE, TrainingCost
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import read_model
from components.training.on_rows import training_rows
from components.training.students import begin_student, find_objective
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.student import Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keras_bert.training.trainer import Trainer

# Steps that are made, and the seconds after which no further one is.
_STEPS, _SECONDS = 40, 60.0
# A step that takes so many times the median one has compiled something.
_COMPILES = 3.0


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), alone=True)
def measure_distillation(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    cost: Output[TrainingCost],
    shape: Student,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    training: Training = Training(),
) -> None:
    """Makes the first steps that `distill` would make, and times them; the student is thrown away.

    Seconds hold for this machine in the state that it is in: they are taken once, and found again by whoever asks with
    the same inputs.

    Args:
        teacher: as `distill` takes it, as are all others.
        examples: see there.
        cost: what was found.
        shape: see there.
        distillation: see there.
        imitation: see there.
        training: see there; how long does not matter.

    Raises:
        InputError: see there.
    """
    from keras_bert.data.records import read_features
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import Trainer, make_deterministic

    began = time.perf_counter()
    make_deterministic(training.seed)
    with find_strategy().scope():
        master = read_model(teacher)
        pupil, _ = begin_student(master, shape, examples, training)
        network, objective = find_objective(master, pupil, examples, distillation, imitation)
        trainer = Trainer(network, objective, training, _STEPS)
    ready = time.perf_counter()
    step, steps = _steady([*_times(trainer, examples, training)])
    begin = time.perf_counter() - began - step * steps
    content = {"step": step, "steps": steps, "begin": begin, "rows": read_features(examples.path)["counts"]}
    cost.file(TRAINING_COST_FILE).write_text(json.dumps(content, indent=1) + "\n")
    cost.counts = {"step": step, "building": ready - began}


def _times(trainer: "Trainer", examples: TaskExamples, training: Training) -> "Sequence[float]":
    """Seconds of each step with its batch."""
    batches = training_rows(examples, training)
    source = iter(trainer.devices.spread(lambda **shares: batches.after(0, **shares)))
    times: list[float] = []
    while len(times) < _STEPS and (sum(times) < _SECONDS or len(times) < 2):
        report_progress(len(times), _STEPS, "timing steps")
        began = time.perf_counter()
        _, norm = trainer.step([next(source) for _ in range(training.accumulation)], len(times) + 1)
        float(norm)  # accelerators are done when somebody reads
        times.append(time.perf_counter() - began)
    return times


def _steady(times: "Sequence[float]") -> tuple[float, int]:
    """The mean seconds of the steps that compiled nothing, and how many all steps are."""
    median = sorted(times)[(len(times) - 1) // 2]
    steady = [seconds for seconds in times if seconds <= _COMPILES * median]
    return sum(steady) / len(steady), len(times)
