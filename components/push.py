"""Push: a blessed model is copied into a numbered folder, completely or not at all."""

import contextlib
import errno
import logging
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import Blessing, Decision, Evaluation
from components.artifacts.pushed import PUSHED_FILE, Pushed
from components.artifacts.standard import Corpus, EdgeModel, TaskExamples
from components.dsl.artifact import content_digest, format_json, holds_files, list_files
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import Refusal
from components.dsl.locks import folder_locked
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.examples.row_schema import SCHEMA_FILE
from components.objects.mirror import address_of
from components.objects.versions import RemoteVersions
from components.scoring.model_card import write_model_card
from components.scoring.records import ORIGINS, RECORD_FILES
from components.scoring.row_vectors import VECTORS_FILE
from components.sources.checkpoint import CheckpointOrigin
from components.sources.pushed_version import ORIGIN_FILE, list_versions
from components.sources.search_texts import SearchTexts, read_search_texts
from components.sources.shared import SPLITS
from keras_bert.core.folders import (
    ACCELERATORS_FOLDER,
    EXPORT_FILE,
    GOLDEN_FILE,
    LABELS_FILE,
    METRICS_FILE,
    TASK_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    TOKENIZER_FILES,
    sync,
)
from keras_bert.export.attachments import attach_entries
from keras_bert.export.files import copy_model
from keras_bert.export.served_calibration import write_calibration
from keras_bert.export.targets.registry import FILES
from keras_bert.tasks.calibration import read_calibration

if TYPE_CHECKING:
    from keras_bert.clients.search_corpus import SearchCorpus

logger = logging.getLogger(__name__)

MODEL_FILES = tuple(file.name for file in FILES if file.is_self_contained)
MODEL_FOLDERS = tuple(dict.fromkeys(file.name.partition("/")[0] for file in FILES if not file.is_self_contained))
# Files that are pushed if they exist; the float file for LiteRT is pushed only if there is no quantized one.
OPTIONAL_FILES = (*MODEL_FILES, LABELS_FILE)
ALWAYS_FILES = (EXPORT_FILE, TASK_FILE, GOLDEN_FILE, *TOKENIZER_FILES)

_STAGING = ".staging-"
# The locks of other machines cannot be seen: their staging folders count as abandoned when they are older than this.
_STAGING_SECONDS = 24 * 3600
# This id changes with each start of the machine. Containers on one machine share the id and the file locks.
_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


@component(libraries=("ai-edge-litert", "onnx", "onnxruntime", "tokenizers"))
def push(
    edges: Input[list[EdgeModel]],
    evaluation: Input[Evaluation],
    blessing: Input[Blessing],
    examples: Input[TaskExamples],
    pushed: Output[Pushed],
    folder: str,
    name: str,
    corpus: Input[Corpus] | None = None,
    page: SearchTexts | None = None,
    checkpoint: CheckpointOrigin | None = None,
    root: Local[str] = "",
) -> None:
    """Copies a blessed model into the next numbered folder of `folder`; each model file describes itself.

    The evaluation names the seed whose files are pushed; its scores are copied as `metrics.json` and into the model
    card, which has the name of the model and the origin of the job's checkpoint. `folder` has all versions, 1, 2, 3,
    ...; it is relative to `root`, the folder of the runs, or absolute. `page` has the texts that the page of an
    embedding or retrieval model searches; None for a page without a search.

    Raises:
        InputError: there are no texts to search, or too many.
        Refusal: the model is not blessed.
    """
    from keras_bert.clients.golden import add_calibrated_answers, drop_absent_files
    from keras_bert.clients.page import PageScore, find_page_obstacle, write_page, write_tokenizers
    from keras_bert.clients.self_test import write_self_test

    decision = blessing.read()
    if not decision.blessed:
        raise Refusal(f"not pushed, because it was not blessed: {describe_refusal(decision)}")
    target = Path(root, folder).absolute()
    metrics = evaluation.read()
    edge = edges[metrics.kept]
    origin = zip(ORIGINS, (edge, evaluation, examples, corpus), strict=True)
    made_of = {name: artifact.fingerprint() for name, artifact in origin if artifact is not None}
    with staged_version(target) as staging:
        write_files(staging, edge, evaluation.read_json(METRICS_FILE), read_schema(examples, evaluation), made_of)
        write_calibration(staging, read_calibration(staging / METRICS_FILE))
        drop_absent_files(staging)
        add_calibrated_answers(staging)
        write_self_test(staging)
        write_tokenizers(staging)
        if obstacle := find_page_obstacle(staging):
            if page is not None:
                logger.warning("no page searches the texts: %s", obstacle)
        else:
            score = PageScore(metrics.metric, metrics.score.mean, metrics.rows["test"])
            write_page(staging, name, score, None if page is None else _search_corpus(staging, page, examples))

        def write_card(version: int) -> None:
            write_model_card(staging, name, version, checkpoint)

        place_files(staging, target, write_card, made_of, pushed, is_absolute=os.path.isabs(folder))


def describe_refusal(decision: Decision) -> str:
    """What a model that is not blessed must reach and does not, with the likely causes."""
    failed = [reason.removeprefix("NO: ") for reason in decision.reasons if reason.startswith("NO: ")]
    return "; ".join(failed) + (f". Likely causes: {'; '.join(decision.causes)}" if decision.causes else "")


def read_schema(examples: TaskExamples, evaluation: Evaluation) -> dict[str, Any]:
    """The schema of training rows, with the vectors of validation rows where the evaluation has some."""
    schema: dict[str, Any] = examples.read_json(SCHEMA_FILE)
    if evaluation.file(VECTORS_FILE).is_file():
        schema["vectors"] = evaluation.read_json(VECTORS_FILE)
    return schema


def write_files(
    staging: Path, edge: EdgeModel, metrics: Mapping[str, Any], schema: Mapping[str, Any], made_of: Mapping[str, str]
) -> None:
    """Copies exported files, and writes their records, which each model file gets attached."""
    for file in choose_files(edge):
        copy_model(edge.file(file), (staging / file).parent)
    for name, content in ((METRICS_FILE, metrics), (SCHEMA_FILE, schema), (ORIGIN_FILE, made_of)):
        (staging / name).write_text(format_json(content))
    records = {name: (staging / name).read_bytes() for name in RECORD_FILES}
    for model_file in filter(Path.is_file, (staging / name for name in MODEL_FILES)):
        attach_entries(model_file, records)


def place_files(
    staging: Path,
    target: Path,
    write_card: Callable[[int], None],
    made_of: Mapping[str, str],
    pushed: Pushed,
    *,
    is_absolute: bool,
) -> None:
    """Makes a complete staged folder the next version of `target`, unless the newest one has these files."""
    # The card has no digest, because people may edit it.
    digests = {name: content_digest(staging / name) for name in list_files(staging)}
    if address_of(target) is None:
        version = newest_version(target, digests) or place_version(staging, target, write_card)
    else:
        version = place_remote_version(staging, target, digests, made_of, write_card)
    folder = str(target / str(version))
    folder = folder if is_absolute else os.path.relpath(folder, pushed.path)
    pushed.write_json(PUSHED_FILE, {"path": folder, "version": version, "files": digests})
    pushed.counts = {"version": version}


def choose_files(edge: EdgeModel) -> list[str]:
    """The exported files to push, relative to the artifact; the parts of a SavedModel go with its file."""
    names = [name for name in OPTIONAL_FILES if edge.file(name).is_file()]
    if TFLITE_FILE in names and TFLITE_FLOAT_FILE in names:
        names.remove(TFLITE_FLOAT_FILE)
    folders = (ACCELERATORS_FOLDER, *MODEL_FOLDERS)
    inside = [f"{folder}/{name}" for folder in folders for name in list_files(edge.file(folder))]
    return [*names, *ALWAYS_FILES, *inside]


def newest_version(folder: Path, digests: Mapping[str, str]) -> int | None:
    """The newest version if it holds exactly these files: pushing the same model again makes no new version."""
    version = max(list_versions(folder), default=0)
    return version if version and holds_files(folder / str(version), digests) else None


def place_version(staging: Path, folder: Path, write_card: Callable[[int], None]) -> int:
    """Renames a staged folder into place as the next version, and returns its number.

    Other processes may push to the same folder at the same time, from other roots.

    All files but the card are staged; `write_card` takes the number of the version.
    """
    version = max(list_versions(folder), default=0) + 1
    while True:
        write_card(version)
        for path in (*staging.rglob("*"), staging):
            sync(path)
        try:
            # Never replaces a version: rename replaces only an empty folder.
            staging.rename(folder / str(version))
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            version += 1
        else:
            sync(folder)
            return version


def place_remote_version(
    staging: Path,
    folder: Path,
    digests: Mapping[str, str],
    origin: Mapping[str, str],
    write_card: Callable[[int], None],
) -> int:
    """Uploads a staged folder as the next version, and returns its number; the folder becomes the local copy.

    `origin` has the fingerprints of the artifacts that the files were made of.
    """
    versions = RemoteVersions(str(address_of(folder)))
    version = max(versions.numbers(), default=0)
    is_new = not version or versions.marker(version)["files"] != dict(digests)
    if is_new:
        version = versions.claim(digests)
    write_card(version)
    if is_new:
        versions.upload(staging, version, digests, origin)
    shutil.rmtree(folder / str(version), ignore_errors=True)
    staging.rename(folder / str(version))
    return version


def _search_corpus(folder: Path, page: SearchTexts, examples: TaskExamples) -> "SearchCorpus":
    """The texts that a page searches, with their vectors by the file that it runs."""
    from keras_bert.clients.page import page_model
    from keras_bert.clients.search_corpus import embed_corpus
    from keras_bert.export.bundle import load_exported
    from keras_bert.tasks.embedding import Embedding

    task = load_exported(folder, page_model(folder).name)
    assert isinstance(task, Embedding), "pipeline.settings.page refuses other tasks"
    rows = [] if page.path else [row for split in SPLITS for row in read_rows(examples, split)]
    width = int(task.model.output["embedding"].shape[-1])
    texts = read_search_texts(page, SplitCorpus.of(rows).passages, width).texts
    return embed_corpus(task, texts, lambda done: report_progress(done, len(texts), "embedding the texts of the page"))


@contextlib.contextmanager
def staged_version(folder: Path) -> Iterator[Path]:
    """A locked folder beside the versions; it is deleted at the end unless it became a version."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = folder / f"{_STAGING}{_machine()}-{uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        # No other push may delete this folder between its creation and its locking.
        with folder_locked(folder):
            for other in folder.glob(f"{_STAGING}*"):
                # Another push may just have ended, or its files may not be readable for this user.
                with contextlib.suppress(OSError):
                    if _is_abandoned(other):
                        shutil.rmtree(other, ignore_errors=True)
            staging.mkdir()
            stack.enter_context(folder_locked(staging))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _is_abandoned(staging: Path) -> bool:
    """Whether no process of this machine has locked a staging folder; without locks, whether it is old."""
    if staging.name.startswith(f"{_STAGING}{_machine()}-"):
        try:
            with folder_locked(staging, wait=False) as is_locked:
                if is_locked:
                    return True
        except BlockingIOError:
            return False
    return time.time() - staging.stat().st_mtime > _STAGING_SECONDS


def _machine() -> str:
    return _BOOT_ID_FILE.read_text().strip() if _BOOT_ID_FILE.is_file() else socket.gethostname()
