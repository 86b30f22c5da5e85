"""A process that reads damaged files one after the other, and who watches it."""

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

from benchmarks.damaged.format import Format
from benchmarks.damaged.registry import FORMATS
from pipeline.orchestrator.executor import PRELOAD

Kind = Literal["read", "refused", "fault"]

METHOD = "forkserver"
SECONDS = 60.0
# What a process may take beyond what it has when it begins.
MEGABYTES = 2048
# Libraries keep up to a quarter of a megabyte of each file that they read.
_FILES_A_PROCESS = 2000
_OURS = ("keras_bert", "components", "pipeline")


class Outcome(NamedTuple):
    """What became of one file; of a fault, `what` is the same for those of one cause, and `message` tells more."""

    kind: Kind
    what: str = ""
    message: str = ""


class Reader:
    """Reads files of one format in a process of its own, and in the next one where that has ended.

    Args:
        name: of the format.
        folder: an empty one for good files, damaged ones and a log.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self._name, self._folder, self._done = name, folder, 0
        self._process: multiprocessing.process.BaseProcess | None = None
        multiprocessing.set_forkserver_preload([*PRELOAD, "benchmarks.damaged.registry"])
        self._start(make=True)
        good = folder / "good"
        self.file = next(good.glob(FORMATS[name].file)).relative_to(good)
        self.good = (good / self.file).read_bytes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, content: bytes) -> Outcome:
        """What the format's reader makes of the file with this content."""
        if self._process is None or self._done >= _FILES_A_PROCESS:
            self._end()
            self._start()
        place = self._folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._folder / "good", place)
        (place / self.file).write_bytes(content)
        self._done += 1
        self._connection.send(None)
        return self._answer()

    def _answer(self) -> Outcome:
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

    def _start(self, *, make: bool = False) -> None:
        context: Any = multiprocessing.get_context(METHOD)
        self._connection, theirs = context.Pipe()
        arguments = (theirs, self._name, self._folder, make)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._done = 0
        ready = self._answer_of_start()
        if ready.kind != "read":
            raise RuntimeError(f"the good file of {self._name} must be read, got {ready.what}: {ready.message}")

    def _answer_of_start(self) -> Outcome:
        # Libraries are imported, and models built.
        return self._answer() if self._connection.poll(10 * SECONDS) else Outcome("fault", "hung")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _serve(connection: Connection, name: str, folder: Path, make: bool) -> None:
    """The life of the process: makes the good file if asked to, reads it, then whatever stands in its place."""
    os.setsid()
    with (folder / "log").open("wb") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    known = FORMATS[name]
    good, damaged = folder / "good", folder / "damaged"
    if make:
        good.mkdir()
        known.make(good)
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(good, damaged)
    connection.send(attempt(known, damaged))
    limit = _virtual_bytes() + MEGABYTES * (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with contextlib.suppress(EOFError, ConnectionError):
        for _ in iter(connection.recv, "the end"):
            connection.send(attempt(known, damaged))


def attempt(known: Format, folder: Path) -> Outcome:
    """Reads a file, and judges what its reader says."""
    try:
        known.read(folder)
    except known.refusals as error:
        return _judge(str(error), known, _place(error))
    except BaseException as error:
        return Outcome("fault", f"{type(error).__name__} in {_place(error)}", _shown(error))
    return Outcome("read")


def _judge(message: str, known: Format, place: str) -> Outcome:
    if len(message.splitlines()) != 1:
        return Outcome("fault", f"a message of {len(message.splitlines())} lines from {place}", message)
    named = Path(known.file).name if known.named is None else known.named
    if named not in message:
        return Outcome("fault", f"a message without {named!r} from {place}", message)
    return Outcome("refused", "", message)


def _place(error: BaseException) -> str:
    """The innermost function of ours that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(f"/{name}/" in frame.filename for name in _OURS)]
    frame = (ours or frames)[-1]
    return f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} ({frame.name})"


def _shown(error: BaseException) -> str:
    return " ".join("".join(traceback.format_exception_only(error)).split())[:400]


def _tail(log: Path) -> str:
    return " ".join(log.read_text(errors="replace").split())[-400:]


def _virtual_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
