"""Exported files whose answers a process on an emulated processor gives, beside those of this machine."""

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from components.dsl.errors import InputError
from keras_bert.export.runtimes import Array, LogProbabilityClassifier, OnnxModel, TFLiteModel, count_tokens
from keras_bert.tasks.base import Task
from plugins.processors.emulators import make_command
from plugins.processors.worker import read_message, write_message

# To start and to load BERT-base takes a minute, a batch of 32 long texts some minutes.
_SECONDS = 900


class Emulator:
    """A file in a process on an emulated processor.

    Attributes:
        difference: the median over the rows so far of the largest difference of an output from that on this machine, as
            a share of the range of this output on this machine; 0 before the first row.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", errors: IO[bytes], name: str, file: Path) -> None:
        self._process, self._errors, self._name, self._file = process, errors, name, file
        self._rows: dict[str, list[float]] = {}
        self._ends: dict[str, tuple[float, float]] = {}

    def answer(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for the inputs of one call.

        Raises:
            InputError: the process ended, hangs or refuses the inputs, or an output is not finite.
        """
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        try:
            write_message(requests, inputs)
            self._wait(replies)
            reply = read_message(replies)
        except BrokenPipeError:
            reply = None
        if reply is None:
            raise InputError(f"processors: {self._file.name} on {self._name}: {self._describe_end()}")
        if "error" in reply:
            raise InputError(f"processors: {self._file.name} on {self._name} cannot answer: {reply['error']}")
        return reply

    def note(self, name: str, here: Array, there: Array) -> None:
        """Notes an output of both processors for the same row."""
        if not np.isfinite(there).all() and np.isfinite(here).all():
            raise InputError(f"processors: {self._file.name} on {self._name} answers numbers that are not finite")
        if here.size:
            low, high = self._ends.get(name, (np.inf, -np.inf))
            self._ends[name] = (min(low, float(here.min())), max(high, float(here.max())))
            self._rows.setdefault(name, []).append(float(np.abs(here - there).max()))

    @property
    def difference(self) -> float:
        """See the class."""
        # Where a last bit moves a value to the next step of a grid, a few rows differ by as much as by saturation.
        return self._share(np.median)

    @property
    def largest_difference(self) -> float:
        """Likewise the largest over the rows."""
        return self._share(np.max)

    def _share(self, summarize: Callable[..., Any]) -> float:
        shares = (summarize(self._rows[name]) / max(high - low, 1e-6) for name, (low, high) in self._ends.items())
        return float(max(shares, default=0.0))

    def _wait(self, replies: IO[bytes]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(replies, selectors.EVENT_READ)
            if not selector.select(_SECONDS):
                raise InputError(
                    f"processors: {self._file.name} on {self._name} gave no answer within {_SECONDS} seconds"
                )

    def _describe_end(self) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        last = next((line for line in reversed(lines) if line.strip() and "requested feature" not in line), "")
        if status < 0 and -status == signal.SIGILL:
            return "the file ended in an illegal instruction, which this processor does not have"
        reason = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"the process ended with {reason}: {last.strip()[:300]}"


class EmulatedOnnx(OnnxModel):
    """An `.onnx` file, each call of which runs on both processors."""

    def __init__(self, path: Path, max_length: int, emulator: Emulator) -> None:
        super().__init__(path, max_length)
        self._here, self._emulator, self._session = self._session, emulator, self

    def __call__(self, **inputs: Array) -> Any:
        try:
            return super().__call__(**inputs)
        except ValueError as error:
            # An error of the emulator, which the super class takes for one of the runtime.
            raise error.__cause__ if isinstance(error.__cause__, InputError) else error from None

    def run(self, names: list[str], given: dict[str, Array]) -> list[Array]:
        """As that of a session; notes the outputs of tokens that are not padding."""
        mask = given[self.inputs["padding_mask"][0]] != 0
        reply = self._emulator.answer(given)
        for name, here in zip(names, self._here.run(names, given), strict=True):
            is_per_token = here.shape[:2] == mask.shape
            for row, *sides in zip(mask, here, reply[name], strict=True):
                self._emulator.note(name, *(side[row] if is_per_token else side for side in sides))
        return [reply[name] for name in names]


class EmulatedLite(TFLiteModel):
    """A `.tflite` file, each row of which runs on both processors."""

    def __init__(self, path: Path, emulator: Emulator) -> None:
        super().__init__(path)
        self._emulator = emulator

    def _answer(self, length: int, inputs: dict[str, Array]) -> Mapping[str, Array]:
        here, reply = super()._answer(length, inputs), self._emulator.answer({**inputs, "length": np.array(length)})
        tokens = count_tokens(inputs["padding_mask"][0])
        for name, output in here.items():
            rows = slice(tokens) if self._is_per_token(name) else slice(None)
            self._emulator.note(name, output[0, rows], reply[name][0, rows])
        return reply


@contextlib.contextmanager
def emulated(task: Task, file: Path, processor: str, aarch64: str) -> Iterator[Emulator]:
    """Inside, a task that was loaded from a file answers with the file on an emulated processor."""
    model: Any = task.model
    with start_emulator(file, processor, aarch64) as emulator:
        if file.suffix == ".onnx":
            task.model = EmulatedOnnx(file, model.max_length, emulator)
        elif isinstance(model, LogProbabilityClassifier):
            task.model = LogProbabilityClassifier(EmulatedLite(file, emulator), independent=task.independent_labels)
        else:
            task.model = EmulatedLite(file, emulator)
        try:
            yield emulator
        finally:
            task.model = model


@contextlib.contextmanager
def start_emulator(file: Path, processor: str, aarch64: str) -> Iterator[Emulator]:
    """A file in a process on an emulated processor, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        command = [*make_command(processor, aarch64, Path(folder)), str(file.absolute())]
        # An address that the user's shell has for this machine's libraries does not hold on another processor.
        variables = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
        process = subprocess.Popen(  # noqa: S603, the emulator of this machine
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=variables
        )
        try:
            yield Emulator(process, errors, processor, file)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
