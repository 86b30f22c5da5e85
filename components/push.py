"""Push: a blessed model into a numbered folder, all of it or nothing."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from components.artifacts.blessing import Blessing
from components.artifacts.corpus import Corpus
from components.artifacts.edge_model import EdgeModel
from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.task_examples import TaskExamples
from components.dsl.artifact import content_digest, holds_files, list_files, sync
from components.dsl.component import component
from components.dsl.errors import Refusal
from components.dsl.signature import Input, Output
from components.scoring.model_card import write_model_card
from keras_bert.export.attachments import attach
from keras_bert.folders import (
    GOLDEN_FILE,
    LABELS_FILE,
    MEDIAPIPE_FILE,
    ONNX_FILE,
    TASK_FILE,
    TEXT_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    TOKENIZER_FILES,
    WEB_FOLDER,
)

MODEL_FILES = (TFLITE_FILE, TFLITE_FLOAT_FILE, ONNX_FILE, MEDIAPIPE_FILE, TEXT_FILE)
# What goes along where it is there; of the two files for LiteRT the float one only where there is no other.
OPTIONAL_FILES = (*MODEL_FILES, LABELS_FILE)
ALWAYS_FILES = ("recipe.json", TASK_FILE, GOLDEN_FILE, *TOKENIZER_FILES)

_STAGING = ".staging-"
# Where no lock tells, as on other machines, what is older was left by a push that was killed.
_STAGING_SECONDS = 24 * 3600
# Changes with each start of the machine; containers on it share it, as they share its locks.
_STARTED = Path("/proc/sys/kernel/random/boot_id")


@component(libraries=("ai-edge-litert", "onnx"))
def push(
    edges: Input[list[EdgeModel]],
    evaluation: Input[Evaluation],
    blessing: Input[Blessing],
    examples: Input[TaskExamples],
    pushed: Output[Pushed],
    folder: str,
    name: str,
    corpus: Input[Corpus] | None = None,
) -> None:
    """Copies a blessed model into the next numbered folder of `folder`, each of whose files says what it is.

    Args:
        edges: the exported files of each seed; the evaluation says whose are pushed.
        evaluation: goes along as `metrics.json` and into the model card.
        blessing: what decides.
        examples: the rows that it learnt from and was measured on.
        pushed: where the model went.
        folder: holds one folder a version: 1, 2, 3, ...
        name: of the model, for its card.
        corpus: the text that it was pre-trained on here.

    Raises:
        Refusal: the model is not blessed.
    """
    from keras_bert.clients.page import page_obstacle, write_characters, write_page

    decision = json.loads(blessing.file("blessing.json").read_text())
    if not decision["blessed"]:
        failed = [reason for reason in decision["reasons"] if reason.startswith("NO")]
        raise Refusal("not pushed, because it was not blessed: " + "; ".join(failed))
    target = Path(folder).absolute()
    target.mkdir(parents=True, exist_ok=True)
    edge = edges[json.loads(evaluation.file("metrics.json").read_text())["kept"]]
    origin = {"edge_model": edge, "evaluation": evaluation, "examples": examples, "corpus": corpus}
    made_of = {name: artifact.fingerprint() for name, artifact in origin.items() if artifact is not None}
    with _staged(target) as staging:
        for file in choose_files(edge):
            (staging / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(edge.file(file), staging / file)
        shutil.copyfile(evaluation.file("metrics.json"), staging / "metrics.json")
        (staging / "origin.json").write_text(json.dumps(made_of, indent=1) + "\n")
        _describe(staging)
        write_characters(staging)
        if not page_obstacle(staging):
            write_page(staging, name)
        # Not of the card: it is for people, who may add to it.
        digests = {name: content_digest(staging / name) for name in list_files(staging)}
        version = newest_version(target, digests) or place_version(staging, target, name)
    content = {"path": str(target / str(version)), "version": version, "files": digests}
    pushed.file("pushed.json").write_text(json.dumps(content, indent=1) + "\n")
    pushed.counts = {"version": version}


def choose_files(edge: EdgeModel) -> list[str]:
    """The exported files to push, relative to the artifact."""
    names = [name for name in OPTIONAL_FILES if edge.file(name).is_file()]
    if TFLITE_FILE in names and TFLITE_FLOAT_FILE in names:
        names.remove(TFLITE_FLOAT_FILE)
    web = [f"{WEB_FOLDER}/{name}" for name in list_files(edge.file(WEB_FOLDER))]
    return [*names, *ALWAYS_FILES, *web]


def newest_version(folder: Path, digests: Mapping[str, str]) -> int | None:
    """The newest version, if it holds these files: the same model, pushed again, is no other version."""
    version = max(list_versions(folder), default=0)
    return version if version and holds_files(folder / str(version), digests) else None


def list_versions(folder: Path) -> list[int]:
    """The numbered folders, lowest first."""
    return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal() and entry.is_dir())


def place_version(staging: Path, folder: Path, name: str) -> int:
    """Renames a staged folder into place as the next version, and returns its number.

    Others may push to the same folder at the same time, from roots of their own.

    Args:
        staging: holds all files but the card.
        folder: of all versions.
        name: of the model, for its card.
    """
    version = max(list_versions(folder), default=0) + 1
    while not _claim(staging, folder, name, version):
        version += 1
    sync(folder)
    return version


def _describe(folder: Path) -> None:
    """Lets each model's file say by itself what was measured of it, and what it comes from."""
    known = {name: (folder / name).read_bytes() for name in ("recipe.json", "metrics.json", "origin.json")}
    for file in filter(Path.is_file, (folder / name for name in MODEL_FILES)):
        attach(file, known)


@contextlib.contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder beside the versions, locked; gone in the end unless it has become one of them."""
    staging = folder / f"{_STAGING}{_machine()}-{uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        # Between making and locking its own nobody else may sweep.
        with _locked(folder, wait=True):
            _sweep(folder)
            staging.mkdir()
            stack.enter_context(_locked(staging, wait=True))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _claim(staging: Path, folder: Path, name: str, version: int) -> bool:
    """Makes a staged folder the version of this number; False if there is something of that name already."""
    write_model_card(staging, name, version)
    for path in (*staging.rglob("*"), staging):
        sync(path)
    try:
        # Never replaces a version: only an empty folder would make way.
        staging.rename(folder / str(version))
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            return False
        raise
    return True


def _sweep(folder: Path) -> None:
    """Deletes what killed pushes left."""
    for staging in folder.glob(f"{_STAGING}*"):
        # Another push may have come to its end, or be of somebody whose files are not to be read.
        with contextlib.suppress(OSError):
            if _is_left(staging):
                shutil.rmtree(staging, ignore_errors=True)


def _is_left(staging: Path) -> bool:
    """Of this machine what no process has locked; of others, and where the file system knows no locks, what is old."""
    if staging.name.startswith(f"{_STAGING}{_machine()}-"):
        try:
            with _locked(staging, wait=False) as is_locked:
                if is_locked:
                    return True
        except BlockingIOError:
            return False
    return time.time() - staging.stat().st_mtime > _STAGING_SECONDS


def _machine() -> str:
    return _STARTED.read_text().strip() if _STARTED.is_file() else socket.gethostname()


@contextlib.contextmanager
def _locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Locks a folder for the length of the block; the lock ends with this process. Tells whether there are locks.

    Raises:
        BlockingIOError: another process holds it, and nobody is to wait.
        OSError: the folder cannot be opened.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _lock(place, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    finally:
        # A process that was started meanwhile would go on holding it.
        _lock(place, fcntl.LOCK_UN)
        os.close(place)


def _lock(place: int, how: int) -> bool:
    try:
        fcntl.flock(place, how)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True
