"""A training: its steps, history, validations, the best weights, checkpoints and orderly interruption."""

import contextlib
import dataclasses
import json
import logging
import math
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.digests import digest
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.models.saving import describe_model
from keras_bert.objectives.base import add_up, averages
from keras_bert.training.checkpoints import Arrays, CheckpointError, Checkpoints
from keras_bert.training.devices import LostWorkerError
from keras_bert.training.history import Clock, Entry, Progress, RunningRecord
from keras_bert.training.step import BatchSource, TrainingStep, temporary_custom_gradients
from keras_bert.training.stop_request import StopRequest, stop_requests

logger = logging.getLogger(__name__)

OnProgress = Callable[[int, int, str], None]

# Rows of a validation batch. It may be larger than a training batch, which is faster, as it does not change the result.
VALIDATION_BATCH = 64

_SMALLER_IS_BETTER = ("loss", "error", "perplexity")
_BEST = "best/"
# Shares of the last weights in their means with the first (docs/accuracy.md).
_SHARES_OF_LAST = 0.5, 0.75
# Entries of a history by default: at least so many, and at most so many steps apart.
_FEWEST_ENTRIES = 20
_LONGEST_WINDOW = 50
# The largest share of its time that a training spends on checkpoints; large models on slow disks save less often.
_SAVING_SHARE = 0.05


class NonFiniteLossError(ArithmeticError):
    """The loss or another metric became NaN or infinite."""


class StoppedError(RuntimeError):
    """A signal stopped the training before its last step; the message says how to continue."""


def validation_rows(length: int) -> int:
    """Rows of a validation batch with rows of up to `length` tokens; fewer for long rows, to bound memory."""
    return limit_batch_size(VALIDATION_BATCH, length)


def validation_steps(steps: int, validations: int) -> set[int]:
    """The steps that are followed by a validation: evenly spread, including the last step."""
    return {round(steps * (index + 1) / validations) for index in range(validations)}


def entry_steps(steps: int, validations: int, log_every: int | None) -> set[int]:
    """The steps after which the history gets an entry, including the steps of validations and the last step.

    Entries are `log_every` steps apart; None for even distances of at most 50 steps, and at least 20 entries where
    there are as many steps, so that the curve of a short training shows its warm-up.
    """
    validated = validation_steps(steps, validations)
    if log_every is not None:
        return validated | {*range(log_every, steps + 1, log_every), steps}
    count = max(_FEWEST_ENTRIES, math.ceil(steps / _LONGEST_WINDOW))
    # With a multiple of the validations, each validation ends a window, and all windows have the same length.
    count = math.ceil(count / max(validations, 1)) * max(validations, 1)
    return validated | validation_steps(steps, min(count, steps))


class Trainer:
    """Trains a model by the steps of a `TrainingStep`.

    Args:
        step: the model, its objective, and the steps that train it.
        batches: training batches of `Training.micro_batch_size` rows.
        validation: validation batches; every validation reads one epoch.
        on_progress: called with the number of finished steps, the number of all steps and a short description.
        log_every: number of steps between two entries of the history; None for even distances, see `entry_steps`.
        validations: number of validations, evenly spread; the last one follows the last step.
        select: the validation metrics whose best mean chooses the weights to keep. Smaller is better of those whose
            names end with `loss`, `error` or `perplexity`. Without any the last weights are kept.
        patience: number of validations without improvement after which training stops; None for no early stopping.
        compare_start: whether `select` also compares the weights from before the first step, and after the last step
            two means of both (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
        checkpoints: a folder for checkpoints, the same for all workers; the chief writes them. A resumed training
            ends with the same weights, bit for bit, as an uninterrupted one. It may resume on another number of
            devices, but then sums are rounded differently. Checkpoints of another model, data, objective or
            settings are refused. None writes no checkpoints.
        checkpoint_seconds: minimum time between checkpoints in seconds. It is prolonged so that saving takes at
            most a twentieth of the time. 0 saves after every step.
        record: a folder for `RunningRecord`, which shows a running training; None writes none.
    """

    def __init__(
        self,
        step: TrainingStep,
        batches: BatchSource,
        *,
        validation: BatchSource,
        on_progress: OnProgress,
        log_every: int | None = None,
        validations: int = 4,
        select: tuple[str, ...] = (),
        patience: int | None = None,
        compare_start: bool = False,
        checkpoints: Path | None = None,
        checkpoint_seconds: float = 60.0,
        record: Path | None = None,
    ) -> None:
        check("fit", "log_every", log_every is None or log_every >= 1, "be at least 1", log_every)
        check("fit", "validations", validations >= 0, "not be negative", validations)
        check("fit", "patience", patience is None or patience >= 1, "be at least 1", patience)
        check("fit", "select", bool(select) or patience is None, "be given if patience is given", select)
        check("fit", "checkpoint_seconds", checkpoint_seconds >= 0, "not be negative", checkpoint_seconds)
        self._step, self._batches, self._validation = step, batches, validation
        self._on_progress, self._log_every = on_progress, log_every
        self._select, self._patience, self._compare_start = select, patience, compare_start
        self._validate_at = validation_steps(step.steps, validations)
        self._entries_at = entry_steps(step.steps, validations, log_every)
        self._progress, self._start, self._best, self._clock = Progress(), Arrays(), Arrays(), Clock()
        self._note = ""
        self._folder = record
        self._record: RunningRecord | None = None
        self._checkpoints, self._seconds = Checkpoints(checkpoints) if checkpoints else None, checkpoint_seconds
        self._saved, self._pause = 0.0, 0.0
        # Only once, because hashing a teacher's weights takes time; before the first step, to fail early.
        self._identity = self._identify() if checkpoints else {}

    def fit(self) -> list[Entry]:
        """Runs all optimizer steps, or the remaining ones if there is a checkpoint.

        Returns:
            The history: `step`, `learning_rate`, `gradient_norm` and the mean of every metric since the previous entry;
            entries with a validation also have its metrics as `validation_...`.

        Raises:
            NonFiniteLossError: a metric is not finite. After this and all other errors, a model without checkpoints has
                the best weights so far, or those from before the training if none were selected.
            LostWorkerError: another worker of `TF_CONFIG` was stopped, has ended or cannot be reached.
            StoppedError: a signal stopped the training; there is a checkpoint if `checkpoints` is given.
            CheckpointError: the checkpoints belong to another training, which the message describes, or all of them
                are corrupted.
            ValueError: there are no validation batches, or there is no metric `select`.
        """
        with temporary_custom_gradients(), self._step.devices.lost_workers_as_errors():
            if self._select and self._compare_start:
                self._start = self._step.weights()
            self._resume()
            with self._undone_after_errors(), self._recorded(), stop_requests() as request:
                self._run_steps(request)
            return self._finish(request)

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[None]:
        """Writes the record while the training runs; after a failure, also the steps that led to it."""
        if self._folder is None or not self._step.devices.is_chief:
            yield
            return
        record = self._record = RunningRecord(self._folder, self._progress.history)
        try:
            yield
        except Exception:
            if self._progress.window:
                record.add(self._describe_window(), self._clock.times())
            raise
        finally:
            record.close()

    @contextlib.contextmanager
    def _undone_after_errors(self) -> Iterator[None]:
        """Without checkpoints, an error or a signal leaves the best weights so far, or else those from before."""
        before = {} if self._checkpoints else self._start or self._step.weights()
        try:
            yield
        except BaseException:
            if before:
                self._step.set_weights(self._best or before)
            raise

    def _finish(self, request: StopRequest) -> list[Entry]:
        """Leaves the best weights, or the averaged ones, in the model, and returns the history."""
        if self._best:
            self._step.set_weights(self._best)
            if not self._progress.best_step:
                logger.info("the weights from before the first step are kept, as no validation was better")
        else:
            self._step.swap_mean()
        if request.signal:
            # The signal came after the last step. The caller must still receive it.
            signal.raise_signal(signal.Signals[request.signal])
        return self._progress.history

    def _run_steps(self, request: StopRequest) -> None:
        """Runs all remaining steps."""
        step, progress = self._step, self._progress
        accumulation = step.training.accumulation
        done = progress.step * accumulation
        batches = step.devices.spread(lambda **shares: self._batches.after(done, **shares))
        source = iter(batches)
        self._saved, self._pause, self._clock = time.monotonic(), self._seconds, Clock()
        if progress.ended:
            return
        step.trace(batches)
        if self._start and not done:
            self._keep_if_best(self._validate("validation before the first step"))
            self._clock = Clock()
        while not progress.ended:
            start = time.monotonic()
            parts = [next(source) for _ in range(accumulation)]
            self._clock.waiting += time.monotonic() - start
            progress.step += 1
            try:
                sums_of_parts, norm = step.step(parts, progress.step)
            except ArithmeticError as error:
                raise NonFiniteLossError(f"{error}, at {self._place()}") from None
            sums = {**add_up(sums_of_parts), "gradient_norm": (float(norm), 1.0)}
            self._clock.tokens += sums.pop("tokens")[0]
            is_overflow = step.loss_scale is not None and not math.isfinite(float(norm))
            if not is_overflow:  # else the step was skipped
                self._check(sums, self._place())
                progress.window.append(sums)
            is_entry = progress.step in self._entries_at
            if is_entry:
                self._add_entry()
            self._on_progress(progress.step, step.steps, self._note)
            # Workers must agree on what to do after a step; synchronizing after every step would slow them down.
            if not progress.ended and (is_entry or step.devices.workers == 1):
                self._stop_or_save(request)
        if self._start:
            self._compare_means()
        if self._checkpoints:
            # The finished training can be loaded if the process is killed later on.
            self._save(Checkpoints(self._checkpoints.folder, keep=1))

    def _compare_means(self) -> None:
        """Keeps a mean of the weights from before the first step and the last ones, if no others are better."""
        last = self._step.weights()
        floats = [name for name, array in last.items() if np.issubdtype(array.dtype, np.floating)]
        for share in _SHARES_OF_LAST:
            means = {name: (1 - share) * self._start[name] + share * last[name] for name in floats}
            self._step.set_weights({**last, **means})
            entry = self._validate(f"validation of {share} of the last weights")
            logger.info("%s of the last weights, the rest of the first: %s", share, json.dumps(entry))
            self._keep_if_best(entry, or_equal=True)

    def _stop_or_save(self, request: StopRequest) -> None:
        """Stops if a signal came to any worker, and saves a checkpoint if one is due."""
        checkpoints = self._checkpoints
        due = bool(checkpoints) and time.monotonic() - self._saved >= self._pause
        stop, due = self._step.devices.any_worker(bool(request.signal), due)
        if stop:
            cause = request.signal or "another worker was stopped by a signal"
            where = f"{cause} after step {self._progress.step} of {self._step.steps}"
            if checkpoints is None:
                message = f"{where}: there is no folder for checkpoints, so that {self._kept()}"
            else:
                message = f"{where}: start the same training again, and it goes on from {self._save(checkpoints)}"
            raise (StoppedError if request.signal else LostWorkerError)(message)
        if due and checkpoints:
            start = time.monotonic()
            self._save(checkpoints)
            self._saved = time.monotonic()
            self._pause = max(self._seconds, (self._saved - start) / _SAVING_SHARE) if self._seconds else 0.0

    def _place(self) -> str:
        """The step and its batches in words; batches are counted from 0 over the whole training."""
        step, parts = self._progress.step, self._step.training.accumulation
        first, last = (step - 1) * parts, step * parts - 1
        return f"step {step}, " + (f"batch {first}" if parts == 1 else f"batches {first} to {last}")

    def _check(self, sums: Mapping[str, tuple[float, float]], where: str) -> None:
        """Raises NonFiniteLossError for values that are not finite, before they are stored."""
        for name, (total, _) in sums.items():
            if math.isfinite(total):
                continue
            norms = [entry["gradient_norm"] for entry in self._progress.history if "gradient_norm" in entry]
            norms += [sums["gradient_norm"][0] for sums in self._progress.window]
            previous = f"; the gradient norm before was {norms[-1]:.3g}" if norms else ""
            if not self._progress.step:
                raise NonFiniteLossError(f"{name} is {total} at {where}: check the weights of the model, and the rows")
            cause = "a gradient that overflows" if name == "gradient_norm" else "a learning rate that is too high"
            raise NonFiniteLossError(
                f"{name} is {total} at {where}: the usual cause is {cause} (the learning rate was "
                f"{self._step.learning_rate():.2g}){previous}; {self._kept()}"
            )

    def _kept(self) -> str:
        """The weights that are left after an error, in words."""
        if self._checkpoints:
            return "earlier checkpoints are kept"
        return f"the model has the weights {'that were best in validation' if self._best else 'from before'}"

    def _add_entry(self) -> None:
        progress, step = self._progress, self._step
        entry = self._describe_window()
        times = self._clock.times()
        progress.ended = progress.step >= step.steps
        if progress.step in self._validate_at:
            entry |= self._validate(f"validation after {self._place()}")
            self._keep_if_best(entry)
        progress.history.append(entry)
        logger.info("%s", json.dumps(entry | times))
        if self._record:
            self._record.add(entry, times)
        self._note = ", ".join(
            [f"{name} {value:.3f}" for name, value in list(averages(progress.window).items())[:2]]
            + [f"rate {entry['learning_rate']:.1e}", f"{times['tokens_per_second']:,.0f} tokens/s"]
        )
        progress.window.clear()
        self._clock = Clock()

    def _validate(self, where: str) -> Entry:
        held_out = {f"validation_{name}": value for name, value in self._step.evaluate(self._validation).items()}
        self._check({name: (value, 1.0) for name, value in held_out.items()}, where)
        return held_out

    def _describe_window(self) -> Entry:
        """The step, its learning rate and the mean of every metric since the last entry."""
        step = self._step
        entry: Entry = {
            "step": self._progress.step,
            "learning_rate": step.learning_rate(),
            **averages(self._progress.window),
        }
        if step.loss_scale:
            entry |= {"loss_scale": step.loss_scale.scale, "skipped_steps": step.loss_scale.skipped}
        return entry

    def _keep_if_best(self, entry: Entry, or_equal: bool = False) -> None:
        """Keeps the weights if they are the best so far; ends the training when patience is exhausted."""
        if not self._select:
            return
        rule = f"be one of {[name for name in entry if name.startswith('validation_')]}"
        for name in self._select:
            check("fit", "select", name in entry, rule, name)
        signs = {name: -1 if name.endswith(_SMALLER_IS_BETTER) else 1 for name in self._select}
        progress, value = self._progress, statistics.fmean(sign * entry[name] for name, sign in signs.items())
        # Of equal values the first one, but not that of weights which have learnt nothing yet.
        or_equal |= progress.best is not None and progress.best_step == 0
        if progress.best is None or value > progress.best or (or_equal and value == progress.best):
            # The first validation after the start has no other to be compared with.
            progress.best, progress.best_step, progress.waited = value, progress.step, 0 if progress.step else -1
            self._best = self._step.weights()
        else:
            progress.waited += 1
            if not progress.ended and self._patience is not None and progress.waited >= self._patience:
                logger.info("stopped at step %d: the best was after step %d", progress.step, progress.best_step)
                progress.ended = True

    def _identify(self) -> dict[str, Any]:
        """The values that must be equal to resume from a checkpoint, as JSON types."""
        step = self._step
        identity = {f"Training.{name}": value for name, value in dataclasses.asdict(step.training).items()}
        model = digest([describe_model(step.model)])
        loop = {"log_every": self._log_every, "validations": sorted(self._validate_at)}
        selection = {"select": self._select, "patience": self._patience, "compare_start": self._compare_start}
        data = {"batches": self._batches.identity(), "validation": self._validation.identity()}
        parts = {"objective": step.objective.identity(), **data}
        nested = {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}
        identity |= {"steps": step.steps, "the model's digest": model, **loop, **selection, **nested}
        return json.loads(json.dumps(identity))

    def _save(self, checkpoints: Checkpoints) -> Path:
        best = {f"{_BEST}{name}": array for name, array in self._best.items()}
        scale = self._step.loss_scale and dataclasses.asdict(self._step.loss_scale)
        state = {
            "identity": self._identity,
            "progress": dataclasses.asdict(self._progress),
            "loss_scale": scale,
            "devices": self._step.devices.count,
        }
        arrays = {**self._step.arrays(), **best}
        if not self._step.devices.is_chief:
            # All workers hold the same state, and read it from the chief's folder.
            return checkpoints.folder
        file = checkpoints.save(self._progress.step, arrays, state)
        logger.info("wrote the checkpoint %s", file)
        return file

    def _resume(self) -> None:
        """Resumes from the newest checkpoint, if there is one."""
        devices, checkpoints = self._step.devices, self._checkpoints
        checkpoint = checkpoints.load(repair=devices.is_chief) if checkpoints else None
        step = checkpoint.state["progress"]["step"] if checkpoint else 0
        # Every worker makes both collective calls before it may raise; the others would wait for it.
        most, least = devices.largest(step), -devices.largest(-step)
        if not most == least == step:
            raise CheckpointError(
                f"all workers must read the checkpoints of one folder, but here the newest is of step {step}, and that "
                f"of another of step {int(most if most != step else least)}; share it, or delete it to start over"
            )
        if checkpoints is None or checkpoint is None:
            return
        stored = checkpoint.state["identity"]
        for name in self._identity | stored:
            was, now = (of.get(name, "unknown") for of in (stored, self._identity))
            if was != now:
                raise CheckpointError(
                    f"{checkpoints.folder} must hold checkpoints of this training, but {name} was {was} and is {now}; "
                    "take another folder, or delete it to start over"
                )
        arrays = checkpoint.arrays
        self._best = {name.removeprefix(_BEST): array for name, array in arrays.items() if name.startswith(_BEST)}
        self._step.set_arrays(arrays)
        if self._step.loss_scale:
            vars(self._step.loss_scale).update(checkpoint.state["loss_scale"])
        self._progress = Progress(**checkpoint.state["progress"])
        logger.info("going on after step %d", step)
        before = checkpoint.state["devices"]
        if before != devices.count:
            self._note = f"going on after step {step}; devices: {devices.count}, were {before}"
            logger.warning(
                "%s. Batches and masks stay the same; dropout and the rounding of sums over devices do not", self._note
            )
