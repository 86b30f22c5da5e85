"""The processes in which compilers and engines run: these are programs of others, which may crash or hang."""

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
from typing import Any

import numpy as np

from components.dsl.errors import install_command
from keras_bert.accelerators.base import Accelerator, AcceleratorError, Rows

# A small student is compiled in seconds, BERT-base in a minute.
SECONDS = 600.0
# An engine that is simulated, or that computes on the processor, takes up to 4 s a row on a busy machine.
_SECONDS_A_ROW = 10.0
_RESULT = "result: "
_ERROR = re.compile(r"^error|\berror:|exception|mismatch|INTERNAL|UNIMPLEMENTED|failed", re.IGNORECASE)


class ExtraAccelerator(Accelerator):
    """The base class of accelerators whose package the extra `accelerators` installs."""

    @property
    def installation(self) -> str:
        return install_command("accelerators")


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
    """Runs a tool; returns its status and all that it printed."""
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
