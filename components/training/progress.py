"""What steps of training share: their process, their progress and the folders of their checkpoints."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.standard import TaskExamples, TextExamples
from components.dsl.step_folders import ProgressParts, ProgressSink, step_folders
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.training.step import TrainingStep

# The default number of validations of a training.
VALIDATIONS = 2

# The share of the forward pass in the work of a step: the backward pass takes about twice as much (Kaplan et al. 2020,
# section 2.1).
_FORWARD = 1 / 3

# Compiling counts as done after this many steps without a batch of a new shape; as many further steps are timed before
# a rate is reported.
STEADY = 5


@contextlib.contextmanager
def reproducible_scope(seed: int) -> Iterator[None]:
    """The scope of the strategy of this process, in which the same arguments give the same weights."""
    from keras_bert.training.devices import find_strategy
    from keras_bert.training.seeds import make_deterministic

    make_deterministic(seed)
    with find_strategy().scope():
        yield


class StepMonitor:
    """The `Monitor` of a step: reports its work, and keeps checkpoints and a record of each phase.

    Each phase has `validations`, and `scored_after` rows are scored after the training.
    """

    def __init__(
        self,
        examples: TaskExamples | TextExamples | Sequence[TaskExamples],
        validations: int = VALIDATIONS,
        scored_after: int = 0,
    ) -> None:
        sources = examples if isinstance(examples, Sequence) else [examples]
        self._rows = sum(source.features()["counts"]["validation"] for source in sources)
        self.validations, self._scored_after = validations, scored_after

    def fit_options(self, step: "TrainingStep", steps: Sequence[int], phase: int) -> dict[str, Any]:
        """See `Monitor`; all phases but the last one have a folder of their own."""
        training, rows = step.training, self._rows
        works = [count + self.validations * forward_work(rows, training) for count in steps]
        parts = ProgressParts([*works, forward_work(self._scored_after, training)])
        progress = TrainingProgress(step, rows, self.validations, parts.sink(phase))
        is_last = phase == len(steps) - 1
        return {"on_progress": progress, **training_folders(training, "" if is_last else "intermediate")}


def training_folders(training: Training, phase: str = "") -> dict[str, Any]:
    """The folders of the checkpoints and the record of a seed and a phase, as arguments of `Trainer`."""
    folders_of_step = step_folders()
    folders = {"checkpoints": folders_of_step.checkpoints, "record": folders_of_step.record}
    return {name: folder and folder / f"seed-{training.seed}" / phase for name, folder in folders.items()}


def forward_work(rows: int, training: Training) -> float:
    """The work of scoring rows, in training steps."""
    return _FORWARD * rows / training.batch_size


class TrainingProgress:
    """Reports the finished work of `Trainer.fit`, in steps; a validation counts as `forward_work`.

    While batches of new shapes are compiled, which may take longer than hundreds of steps, the total is 0. While the
    first steps after that are timed, nothing is reported. The compilation of a rare shape later on is not reported.
    """

    def __init__(self, step: "TrainingStep", validation_rows: int, validations: int, sink: ProgressSink) -> None:
        from keras_bert.training.trainer import validation_steps

        self._step, self._sink, self._is_timed = step, sink, False
        self._validation = forward_work(validation_rows, step.training)
        self._validate_at = validation_steps(step.steps, validations)

    def __call__(self, step: int, steps: int, note: str) -> None:
        """Reports a step; `Trainer.fit` calls it after each."""
        steady = step - self._step.fresh_step
        self._is_timed = self._is_timed or steady >= 2 * STEADY or step == steps
        if self._is_timed or steady == STEADY:
            self._sink(self._work(step), self._work(steps), note)
        elif steady < STEADY:
            self._sink(0, 0, "compiling")

    def _work(self, step: int) -> float:
        return step + self._validation * sum(validated <= step for validated in self._validate_at)
