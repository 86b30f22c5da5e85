"""Small components that need no library, for tests of the runtime; importable in a child process."""

import dataclasses
import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from components.dsl.artifact import Artifact
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import InputError, Refusal
from components.dsl.step_folders import report_progress, step_folders


class Text(Artifact):
    """`text.txt`."""

    def read(self):
        return self.file("text.txt").read_text()

    def write(self, text):
        self.file("text.txt").write_text(text)
        self.counts["letters"] = len(text)


class Verdict(Text):
    """What `compare` says."""


class Kept(Text):
    """What `crown` kept."""


@dataclasses.dataclass(frozen=True)
class File:
    """A file of the user's."""

    path: str

    def fingerprint(self):
        try:
            return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        except OSError as error:
            raise InputError(f"File.path must be a readable file, got {self.path}") from error

    def digests(self):
        return {self.path: self.fingerprint()}


@component()
def write(text: Output[Text], value: str = "hello", workers: Local[int] = 1) -> None:
    os.write(1, f"writing {value}\n".encode())
    text.write(value)


@component()
def load(text: Output[Text], source: File) -> None:
    text.write(Path(source.path).read_text())


@component()
def edit_while_loading(text: Output[Text], source: File) -> None:
    text.write(Path(source.path).read_text())
    Path(source.path).write_text("something else")


@component()
def initial(text: Input[Text], letter: Output[Text]) -> None:
    letter.write(text.read()[:1])


@component()
def shout(text: Input[Text], loud: Output[Text], mark: str = "!") -> None:
    loud.write(text.read().upper() + mark)


@component()
def join(parts: Input[list[Text]], whole: Output[Text]) -> None:
    whole.write("+".join(part.read() for part in parts))


@dataclasses.dataclass(frozen=True)
class Predecessor:
    """The newest file that `crown` kept in a folder of another text than the candidate."""

    folder: str

    def look_up(self, inputs):
        text = f"{inputs['candidate']} "
        files = sorted(Path(self.folder).glob("*.kept"), reverse=True)
        return next((File(str(file)) for file in files if not file.read_text().startswith(text)), None)


@component()
def compare(candidate: Input[Text], verdict: Output[Verdict], previous: File | None = None) -> None:
    before = Path(previous.path).read_text().partition(" ")[2] if previous else "nothing"
    verdict.write(f"{candidate.read()} after {before}")


@component()
def crown(candidate: Input[Text], verdict: Input[Verdict], kept: Output[Kept], folder: Local[str]) -> None:
    content = f"{candidate.fingerprint()} {candidate.read()}"
    files = sorted(Path(folder).glob("*.kept"))
    if not files or files[-1].read_text() != content:
        Path(folder).mkdir(exist_ok=True)
        partial = Path(folder, "partial")
        partial.write_text(content)
        partial.rename(Path(folder, f"{len(files):03d}.kept"))
    kept.write(candidate.read())


@component()
def behave(text: Input[Text], result: Output[Text], how: Local[str] = "well", trace: Local[str] = "") -> None:
    result.write("half")
    if trace:
        Path(trace).write_text(str(os.getpid()))
    if how == "well":
        result.write(text.read())
    elif how == "input_error":
        raise InputError("behave.how must be well, got input_error")
    elif how == "refusal":
        raise Refusal("not good enough")
    elif how == "crash":
        sys.stderr.write("about to fail\n")
        raise KeyError("surprise")
    elif how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exit":
        os._exit(3)
    elif how == "disk_full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(result.path))
    elif how == "slow":
        sleeper = subprocess.Popen(["sleep", "60"])
        Path(trace + ".grandchild").write_text(str(sleeper.pid))
        for second in range(600):
            report_progress(second, 600, "sleeping")
            time.sleep(0.1)


@component()
def count_lives(text: Input[Text], result: Output[Text], lives: Local[int] = 1) -> None:
    place = step_folders()
    assert place.checkpoints
    assert place.record
    place.checkpoints.mkdir(parents=True, exist_ok=True)
    life = len(list(place.checkpoints.iterdir())) + 1
    (place.checkpoints / str(life)).touch()
    place.record.mkdir()
    (place.record / "note").write_text(f"life {life}")
    if life < lives:
        os.kill(os.getpid(), signal.SIGKILL)
    result.write(text.read())


@component(kind="training")
def train_for_long(text: Input[Text], result: Output[Text]) -> None:
    """Writes its process into its record and a checkpoint, then reports progress for a minute."""
    place = step_folders()
    assert place.checkpoints
    assert place.record
    for folder, content in ((place.checkpoints, "weights"), (place.record, str(os.getpid()))):
        folder.mkdir(parents=True)
        (folder / "note").write_text(content)
    for second in range(600):
        report_progress(second, 600)
        time.sleep(0.1)


@component()
def meet(
    text: Input[Text], result: Output[Text], me: str, other: str, folder: Local[str], seconds: Local[float]
) -> None:
    """Waits until its other is there, too, or for some seconds; says whether it came."""
    Path(folder, me).touch()
    until = time.monotonic() + seconds
    while not Path(folder, other).exists() and time.monotonic() < until:
        time.sleep(0.02)
    result.write(str(Path(folder, other).exists()))
    time.sleep(0.3)
    Path(folder, me).unlink()


@component(kind="measurement")
def meet_alone(
    text: Input[Text], result: Output[Text], me: str, other: str, folder: Local[str], seconds: Local[float]
) -> None:
    """`meet`, as a step that measures time."""
    meet.run(text=text, result=result, me=me, other=other, folder=folder, seconds=seconds)


@component()
def save_and_complain(result: Output[Text]) -> None:
    place = step_folders().checkpoints
    assert place
    place.mkdir(parents=True)
    (place / "checkpoint").write_text("hours of work")
    raise InputError("the rows cannot be scored")


def misbehaving(how, trace=""):
    """`write`, then `behave`, then `initial`."""
    first = write()
    middle = behave(text=first.output(Text), how=how, trace=trace)
    return [initial(text=middle.output(Text))]


def succession(value, folder):
    """A candidate that is compared with the one kept before it."""
    candidate = write(value=value)
    loud = shout(text=candidate.output(Text))
    verdict = compare(candidate=loud.output(Text), previous=Predecessor(str(folder)))
    return [crown(candidate=loud.output(Text), verdict=verdict.output(Verdict), folder=str(folder))]


def ends(pid, seconds=5.0):
    """Whether a process ends within some seconds: one that was killed may take a moment on a busy machine."""
    until = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def is_running(pid):
    """True for a process that has not ended; a zombie has."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
