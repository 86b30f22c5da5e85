"""Formats that the pipeline writes and reads again: records, checkpoints, manifests, the store."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from components.artifacts.pushed import Pushed
from components.dsl.artifact import Artifact, content_digest
from components.dsl.errors import InputError
from pipeline.orchestrator import source_code
from pipeline.orchestrator.records import Execution, NewArtifact
from pipeline.orchestrator.root_store import DATABASE
from pipeline.orchestrator.store import Store
from pipeline.views.statistics import read_statistics, show_statistics
from tests.robustness.corruption.format import FOLDER, Format

_STATISTICS = {"texts": {"rows": 120, "longest": 17, "share": 0.25}, "lengths": [["1-8", 100], ["9-16", 20]]}


class NotIntactError(Exception):
    """Raised where a reader returns False for a file that is not intact."""


def _write_task_rows(folder: Path) -> None:
    from keras_bert.data.records import serialize, write_features, write_labels, write_records

    rows: list[dict[str, Any]] = [
        {"token_ids": [2, *range(10, 10 + number % 7), 3], "segment_ids": [0] * (2 + number % 7), "label": [number % 3]}
        for number in range(25)
    ]
    write_records(folder / "train.tfrecord", map(serialize, rows))
    write_features(folder, {"max_length": 12, "task": "classification"})
    write_labels(folder, ["a", "b", "c"])


def _write_flag_rows(folder: Path) -> None:
    from keras_bert.data.records import serialize, write_features, write_labels, write_records

    ids = {"token_ids": [2, 10, 11, 3], "segment_ids": [0] * 4}
    rows: list[dict[str, Any]] = [{**ids, "label": [number % 2, number % 3 // 2, 1]} for number in range(25)]
    write_records(folder / "train.tfrecord", map(serialize, rows))
    write_features(folder, {"max_length": 12, "task": "multi_label"})
    write_labels(folder, ["a", "b", "c"])


def _read_task_rows(folder: Path) -> None:
    from keras_bert.data.task_batches import task_batches

    for _ in task_batches(folder, "train", 10).epoch():
        pass


def _write_pretraining_rows(folder: Path) -> None:
    from tests.keras_bert.data import rows

    rows.write_dynamic_rows(folder)


def _read_pretraining_rows(folder: Path) -> None:
    from keras_bert.data.pretraining_batches import pretraining_batches

    for _ in pretraining_batches(folder, "train", 20).epoch():
        pass


def _write_checkpoints(folder: Path) -> None:
    import numpy as np

    from keras_bert.training.checkpoints import Checkpoints

    arrays = {"weights": np.arange(200, dtype=np.float32), "moments": np.ones(50, np.float32)}
    Checkpoints(folder).save(3, arrays, {"step": 3, "history": [{"loss": 1.5}]})


def _read_checkpoints(folder: Path) -> None:
    from keras_bert.training.checkpoints import Checkpoints

    Checkpoints(folder).load()


def _write_artifact(folder: Path) -> None:
    artifact = Artifact(folder)
    artifact.file("text.txt").write_text("the cow went by")
    artifact.file("statistics.json").write_text(json.dumps(_STATISTICS))
    artifact.seal({"component": "write", "size": 3})


def _read_artifact(folder: Path) -> None:
    artifact = Artifact(folder)
    if not artifact.is_intact():
        raise NotIntactError(f"{folder / 'manifest.json'} is not intact")
    artifact.fingerprint()


def _read_statistics(folder: Path) -> None:
    import io

    from rich.console import Console

    show_statistics(read_statistics(folder), Console(file=io.StringIO()))


def _write_pushed(folder: Path) -> None:
    version = folder / "pushed" / "1"
    version.mkdir(parents=True)
    (version / "model.tflite").write_bytes(b"weights")
    pushed = Pushed(folder / "artifact")
    pushed.path.mkdir()
    digests = {"model.tflite": content_digest(version / "model.tflite")}
    content = {"path": str(version), "version": 1, "files": digests}
    pushed.file("pushed.json").write_text(json.dumps(content))
    pushed.seal({})


def _read_pushed(folder: Path) -> None:
    if not Pushed(folder / "artifact").is_intact():
        raise NotIntactError(f"{folder / 'artifact' / 'pushed.json'} is not intact")


def _write_store(folder: Path) -> None:
    store = Store(folder)
    for number in range(3):
        run = store.start_run("tiny")
        for node in ("ingest", "train", "evaluate"):
            execution = Execution(run, node, node, f"{node}-{number}", "ran", 1.5)
            artifact = NewArtifact("Text", f"fingerprint-{node}-{number}", f"artifacts/{node}/text-{number}")
            store.publish(execution, {}, {"text": artifact})
        store.finish_run(run, "done")
    store.close()
    connection = sqlite3.connect(folder / DATABASE)
    with connection:
        # The bytes must not depend on the time.
        connection.execute("UPDATE runs SET started = 1.5e9, ended = 1.6e9")
        connection.execute("UPDATE executions SET ended = 1.6e9")
    connection.execute("VACUUM")
    connection.close()


def _read_store(folder: Path) -> None:
    """Makes the queries of a run and of `show`."""
    store = Store(folder)
    try:
        _query(store)
    finally:
        store.close()


def _query(store: Store) -> None:
    for run in store.runs():
        store.executions(run.id)
    store.artifacts()
    store.paths()
    run_id = store.start_run("tiny")
    outputs = store.find("train-1") or {}
    store.last_ran("train", "tiny")
    store.last_of("train", "tiny")
    store.ingredients("train-1")
    store.settings(run_id)
    store.record(Execution(run_id, "train", "train", "train-1", "cached", 0.0), {}, outputs)
    artifacts = {"text": NewArtifact("Text", "another", "artifacts/train/text-1")}
    store.publish(Execution(run_id, "train", "train", "train-9", "ran", 1.0), {}, artifacts)
    store.ran_under("train-9")
    store.finish_run(run_id, "done")


def _write_journal(folder: Path) -> None:
    """A store in the middle of a transaction, as after a kill: old pages are only in the rollback journal."""
    _write_store(folder)
    connection = sqlite3.connect(folder / DATABASE)
    # A cache of one page: changed pages go to the file before the transaction ends.
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("UPDATE executions SET message = hex(zeroblob(4096))")
    files = {name: (folder / name).read_bytes() for name in (DATABASE, f"{DATABASE}-journal")}
    connection.close()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _write_code_cache(folder: Path) -> None:
    source_code.read(Path(__file__), __name__)
    source_code.save_cache(folder / ".code.json")


def _read_code_cache(folder: Path) -> None:
    source_code.load_cache(folder / ".code.json")
    source_code.read(Path(__file__), __name__)
    source_code.save_cache(folder / ".code.json")


FORMATS: dict[str, Format] = {
    "tfrecord, task rows": Format("train.tfrecord", _write_task_rows, _read_task_rows, (ValueError,)),
    "tfrecord, rows with several labels": Format("train.tfrecord", _write_flag_rows, _read_task_rows, (ValueError,)),
    "tfrecord, pre-training rows": Format(
        "train-16-00001-of-00002.tfrecord", _write_pretraining_rows, _read_pretraining_rows, (ValueError,), FOLDER
    ),
    "features.json": Format("features.json", _write_task_rows, _read_task_rows, (ValueError,)),
    "labels.json": Format("labels.json", _write_task_rows, _read_task_rows, (ValueError,), FOLDER),
    "training checkpoint": Format(
        "*.safetensors", _write_checkpoints, _read_checkpoints, (RuntimeError,), mentions=FOLDER
    ),
    "manifest.json": Format("manifest.json", _write_artifact, _read_artifact, (NotIntactError,)),
    "statistics.json": Format("statistics.json", _write_artifact, _read_statistics, (InputError,)),
    "pushed.json": Format("artifact/pushed.json", _write_pushed, _read_pushed, (NotIntactError,)),
    "store": Format(DATABASE, _write_store, _read_store, (InputError,)),
    "store's journal": Format(f"{DATABASE}-journal", _write_journal, _read_store, (InputError,)),
    ".code.json": Format(".code.json", _write_code_cache, _read_code_cache, ()),
}
