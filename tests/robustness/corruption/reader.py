"""A process that reads corrupted files one after the other, with limits of memory and time."""

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import psutil

from pipeline.orchestrator.executor import PRELOAD
from tests.robustness.corruption.format import Format
from tests.robustness.corruption.registry import FORMATS

Kind = Literal["read", "refused", "fault"]

METHOD = "forkserver"
SECONDS = 60.0
# Memory that a process may take in addition to that of its imports.
MEGABYTES = 2048
# Libraries leak up to a quarter of a megabyte for each file.
_FILES_PER_PROCESS = 2000
_PACKAGES = ("keras_bert", "components", "pipeline", "plugins")


class Outcome(NamedTuple):
    """The outcome for one file.

    Attributes:
        kind: read, refused, or fault.
        cause: of a fault; equal for faults at one place of the code.
        message: of a refusal or a fault.
    """

    kind: Kind
    cause: str = ""
    message: str = ""


class ReaderProcess:
    """Reads files of one format in a child process, which is replaced when it ends.

    Args:
        name: the format, a key of `FORMATS`.
        folder: an empty folder for valid files, corrupted ones and a log.

    Attributes:
        file: the path of the corrupted file in its folder.
        valid_content: bytes of the valid file.

    Raises:
        RuntimeError: the valid file cannot be read.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self._name, self._folder, self._count = name, folder, 0
        self._process: multiprocessing.process.BaseProcess | None = None
        multiprocessing.set_forkserver_preload([*PRELOAD, "tests.robustness.corruption.registry"])
        self._start(write=True)
        valid = folder / "valid"
        self.file = next(valid.glob(FORMATS[name].file)).relative_to(valid)
        self.valid_content = (valid / self.file).read_bytes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, content: bytes) -> Outcome:
        """Replaces the file's content, and reads it."""
        if self._process is None or self._count >= _FILES_PER_PROCESS:
            self._end()
            self._start()
        corrupted = self._folder / "corrupted"
        shutil.rmtree(corrupted, ignore_errors=True)
        shutil.copytree(self._folder / "valid", corrupted)
        (corrupted / self.file).write_bytes(content)
        self._count += 1
        self._connection.send(None)
        return self._receive()

    def _receive(self) -> Outcome:
        assert self._process is not None
        if not self._connection.poll(SECONDS):
            self._end()
            return Outcome("fault", f"hung: no answer in {SECONDS:g} seconds")
        try:
            outcome: Outcome = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode or 0
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            self._end()
            return Outcome("fault", f"the process {how}", _tail(self._folder / "log"))
        return outcome

    def _start(self, *, write: bool = False) -> None:
        context: Any = multiprocessing.get_context(METHOD)
        self._connection, child_connection = context.Pipe()
        arguments = (child_connection, self._name, self._folder, write)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        child_connection.close()
        self._count = 0
        # The first file takes longer: libraries are imported, and models built.
        outcome = self._receive() if self._connection.poll(10 * SECONDS) else Outcome("fault", "hung")
        if outcome.kind != "read":
            raise RuntimeError(f"the valid file of {self._name} must be read, got {outcome.cause}: {outcome.message}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(connection: Connection, name: str, folder: Path, write: bool) -> None:
    """The main function of the process: reads the valid file, which it writes first if `write`; then corrupted ones."""
    os.setsid()
    with (folder / "log").open("wb") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    file_format = FORMATS[name]
    valid, corrupted = folder / "valid", folder / "corrupted"
    if write:
        valid.mkdir()
        file_format.write(valid)
    shutil.rmtree(corrupted, ignore_errors=True)
    shutil.copytree(valid, corrupted)
    connection.send(try_file(file_format, corrupted))
    limit = psutil.Process().memory_info().vms + MEGABYTES * (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with contextlib.suppress(EOFError, ConnectionError):
        for _ in iter(connection.recv, "the end"):
            connection.send(try_file(file_format, corrupted))


def try_file(file_format: Format, folder: Path) -> Outcome:
    """Reads a file, and checks the error of its reader."""
    try:
        file_format.read(folder)
    except file_format.refusals as error:
        return _check_message(str(error), file_format, _locate(error))
    except BaseException as error:
        return Outcome("fault", f"{type(error).__name__} in {_locate(error)}", _format_error(error))
    return Outcome("read")


def _check_message(message: str, file_format: Format, place: str) -> Outcome:
    if len(message.splitlines()) != 1:
        return Outcome("fault", f"a message of {len(message.splitlines())} lines from {place}", message)
    mentions = Path(file_format.file).name if file_format.mentions is None else file_format.mentions
    if mentions not in message:
        return Outcome("fault", f"a message without {mentions!r} from {place}", message)
    return Outcome("refused", "", message)


def _locate(error: BaseException) -> str:
    """The innermost function of this project in an error's traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    project_frames = [frame for frame in frames if any(f"/{name}/" in frame.filename for name in _PACKAGES)]
    frame = (project_frames or frames)[-1]
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} ({frame.name})"


def _format_error(error: BaseException) -> str:
    return " ".join("".join(traceback.format_exception_only(error)).split())[:400]


def _tail(log: Path) -> str:
    return " ".join(log.read_text(errors="replace").split())[-400:]
