"""The interface of an accelerator, and the process in which its compiler runs."""

import abc
import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keras_bert.options.quantization import RecipeName

# A small student is compiled in seconds, BERT-base in a minute.
SECONDS = 600.0
# An engine that is simulated, or that computes on the processor, takes up to 4 s a row on a busy machine.
_SECONDS_A_ROW = 10.0
_RESULT = "result: "
_ERROR = re.compile(r"^error|\berror:|exception|mismatch|INTERNAL|UNIMPLEMENTED|failed", re.IGNORECASE)


class AcceleratorError(ValueError):
    """A compiler or an engine cannot take a file; the message is a whole sentence."""


class Coverage(NamedTuple):
    """How much of a file an accelerator runs.

    Attributes:
        parts: the number of connected parts of the graph that it runs; values are copied between parts.
        left: number of operations that the processor runs, by their kind, and by the reason if the tool gives one.
        figures: what the tool measures or estimates, by name with its unit.
        operators: for LiteRT for Microcontrollers, the methods of its resolver that register the file's operations.
    """

    operations: int
    taken: int
    parts: int
    left: Mapping[str, int] = {}
    figures: Mapping[str, float] = {}
    operators: Sequence[str] = ()


# Length of the signature -> the rows by input, or their answers by output, (rows, ...).
Rows = Mapping[int, Mapping[str, np.ndarray[Any, Any]]]


class EngineAnswers(NamedTuple):
    """Answers of an engine, or of a simulator.

    Attributes:
        engine: the name of the engine in a table, such as "HTP, simulated".
        numbers: number format of the file that is run, "int8"; empty if it is the `.tflite` file.
    """

    answers: Rows
    engine: str
    numbers: str = ""


class Accelerator(abc.ABC):
    """The base class of accelerators; an object is one chip, or one engine."""

    package: ClassVar[str]
    """The Python package that `cover` needs; `installation` installs it."""

    installation: ClassVar[str] = "pip install keras-bert-edge[accelerators]"

    recipes: ClassVar[Sequence[RecipeName | None]] = ()
    """The recipes that it takes, None for a float model; empty for all."""

    suffixes: ClassVar[Sequence[str]] = (".tflite",)
    """The suffixes of the files that are made, all with the name of `file_name`."""

    runs_whole: ClassVar[bool] = False
    """True if an exported file must run on it as a whole; else the processor may run some operations."""

    takes_onnx: ClassVar[bool] = False
    """True if the maker also has an engine for ONNX Runtime, see `compile_onnx`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.file_name = f"{name.replace('/', '_')}.tflite"

    def find_obstacle(self) -> str | None:
        """The reason why `cover` cannot work on this machine, with the way out; None if there is none."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.name} needs the Python package {self.package}, which is not installed: {self.installation}"
        return None

    def find_compiler_obstacle(self) -> str | None:
        """As `find_obstacle`, why `compile` cannot work."""
        return self.find_obstacle()

    def check_recipe(self, recipe: RecipeName | None) -> None:
        """Checks that files of a recipe are taken; None is a float model."""
        if self.recipes and recipe not in self.recipes:
            taken = ", ".join(str(taken or "float32") for taken in self.recipes)
            raise AcceleratorError(f"{self.name} takes files of {taken}, got {recipe or 'float32'}")

    def cover(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """The same as `compile` returns, without the maker's compiler if that is possible."""
        return self.compile(file, folder, largest_id)

    @abc.abstractmethod
    def compile(self, file: Path, folder: Path, largest_id: int) -> Coverage:
        """Compiles a `.tflite` file with token ids as inputs.

        Args:
            file: the file.
            folder: an empty folder for the compiled file, `file_name`, and whatever else the tool writes; an engine
                that runs the file as it is writes none.
            largest_id: the largest token id that an engine may be given; ids are drawn from 0 to this one.

        Raises:
            AcceleratorError: the tool refuses the file, gives wrong answers, crashes, or takes more than ten minutes.
        """

    def compile_onnx(self, file: Path, folder: Path, lengths: Sequence[int], largest_id: int) -> None:
        """Compiles an `.onnx` file with axes `batch` and `length` for one row of each length, where `takes_onnx`.

        Args:
            file: the file.
            folder: an empty folder for the compiled files.
            lengths: the numbers of tokens.
            largest_id: see `compile`.

        Raises:
            AcceleratorError: as `compile`.
        """
        raise NotImplementedError(f"{self.name} takes no .onnx files")

    def answer(self, file: Path, rows: Rows, folder: Path) -> EngineAnswers | None:
        """Answers rows on the engine or on a simulator; None where nothing on this machine can.

        Args:
            file: the `.tflite` file of an exported folder, which has what `compile` wrote below it.
            rows: the rows of each signature.
            folder: an empty folder.

        Raises:
            AcceleratorError: as `compile`; or answers are not finite, or all are 0.
        """
        return None


def package_folder(package: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def exchange_rows(
    name: str,
    command: Sequence[str],
    rows: Rows,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    reasons: Mapping[str, str] | None = None,
) -> tuple[Rows, str]:
    """Runs a tool with `folder` as its last argument, which reads `rows_N.npz` there and writes `answers_N.npz`.

    Returns the answers, and all that the tool printed. `reasons` has the error messages for texts that a tool prints if
    it fails.
    """
    for length, inputs in rows.items():
        _save(folder / f"rows_{length}.npz", inputs)
    seconds = SECONDS + _SECONDS_A_ROW * sum(len(next(iter(inputs.values()))) for inputs in rows.values())
    status, output = run_tool(name, [*command, str(folder)], environment, seconds)
    if status and (message := next((reason for text, reason in (reasons or {}).items() if text in output), None)):
        raise AcceleratorError(message)
    answers: dict[int, dict[str, np.ndarray[Any, Any]]] = {}
    for length in rows:
        if status or not (file := folder / f"answers_{length}.npz").is_file():
            raise AcceleratorError(f"{name} cannot answer: {find_reason(output)}")
        with np.load(file) as held:
            answers[length] = dict(held)
    values = np.concatenate([value.ravel() for outputs in answers.values() for value in outputs.values()])
    if not np.isfinite(values).all() or not values.any():
        wrong = "only zeros" if np.isfinite(values).all() else "numbers that are not finite"
        raise AcceleratorError(f"{name} answers {wrong}: {find_reason(output)}")
    return answers, output


def serve_rows(folder: str, answer: Callable[[int, Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """The other side of `exchange_rows`, in the process of a tool: `answer` takes a length and one row, (1, length)."""
    for file in sorted(Path(folder).glob("rows_*.npz")):
        with np.load(file) as held:
            rows = dict(held)
        length, count = int(file.stem.partition("_")[2]), len(next(iter(rows.values())))
        answers = [
            answer(length, {name: values[row : row + 1] for name, values in rows.items()}) for row in range(count)
        ]
        outputs = {name: np.concatenate([one[name] for one in answers]) for name in answers[0]}
        _save(file.with_name(f"answers_{length}.npz"), outputs)


def _save(file: Path, arrays: Mapping[str, Any]) -> None:
    given: Any = arrays
    np.savez(file, **given)


def run_tool(
    name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, seconds: float | None = None
) -> tuple[int, str]:
    """Runs a tool; returns its status and all that it printed.

    Raises:
        AcceleratorError: it cannot be started, crashed, or took more than `seconds`, by default ten minutes.
    """
    seconds = SECONDS if seconds is None else seconds
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **(environment or {})}
    try:
        process = subprocess.Popen(  # noqa: S603, the tool is of an installed package
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise AcceleratorError(f"the tool of {name} cannot be started on this machine: {error}") from None
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise AcceleratorError(f"{name} did not end within {seconds:.0f} seconds, and was stopped") from None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode < 0:
        crash, last_line = signal.Signals(-process.returncode).name, "".join(output.strip().splitlines()[-1:])[:300]
        raise AcceleratorError(f"the tool of {name} crashed with {crash}: {last_line}")
    return process.returncode, output


def ask_tool(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[Any | None, str]:
    """Runs a tool that calls `print_result`; returns the value, None if the tool failed, and all that it printed."""
    status, output = run_tool(name, command, environment)
    results = [line.removeprefix(_RESULT) for line in output.splitlines() if line.startswith(_RESULT)]
    return json.loads(results[0]) if results and not status else None, output


def print_result(value: Any) -> None:
    """The other side of `ask_tool`."""
    # Libraries print lines without an end.
    sys.stdout.write(f"\n{_RESULT}{json.dumps(value)}\n")


def find_reason(output: str) -> str:
    """The first line of a tool's output that names an error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith(("INFO", "WARNING"))]
    errors = [line for line in lines if _ERROR.search(line)]
    return (errors or lines[-1:] or ["it printed nothing"])[0][:300]


def count_operations(file: Path) -> Counter[str]:
    """The built-in operations of a file's first graph by kind, without the custom operations of a compiler."""
    from keras_bert.export.rules.lite_graphs import read_graphs

    try:
        operations = read_graphs(file)[0].operations
    except ValueError as error:
        raise AcceleratorError(str(error)) from None
    return Counter(operation.kind for operation in operations if operation.built_in)
