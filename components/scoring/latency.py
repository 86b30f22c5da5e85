"""Latency: milliseconds of one answer, on one thread or on several."""

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import psutil

from keras_bert.core.folders import INPUT_NAMES

if TYPE_CHECKING:
    import keras

    Features = dict[str, np.ndarray[Any, Any]]
    from keras_bert.tasks.base import Task

T = TypeVar("T")

# Number of rows whose median is a latency figure.
TIMED_ROWS = 100


def time_rows(answer: "Callable[[Features], Any]", rows: "Sequence[Features]") -> float:
    """Median milliseconds for one row, after a first pass that is not counted.

    `answer` is a function of a model's inputs (1, length). Rows have no padding; the first of them are timed.
    """
    with on_processors(1):
        return statistics.median(times_of(answer, rows[:TIMED_ROWS]))


def times_of(answer: "Callable[[Features], Any]", rows: "Sequence[Features]") -> list[float]:
    """Milliseconds for each row, after a first pass that is not counted."""
    for row in rows:
        answer(row)
    return [timed(answer, row)[1] for row in rows]


def timed(call: Callable[..., T], *given: Any) -> tuple[T, float]:
    """The result of a call, and its duration in milliseconds."""
    start = time.perf_counter()
    result = call(*given)
    return result, 1000 * (time.perf_counter() - start)


def full_row(length: int, entries: int) -> "Features":
    """A model's inputs for one row (1, length) without padding, with changing token ids."""
    row = {name: np.zeros((1, length), np.int32) for name in INPUT_NAMES}
    row["token_ids"][0] = np.arange(length) % entries
    row["padding_mask"][:] = 1
    return row


def traced(network: "keras.Model") -> "Callable[[Features], Any]":
    """A Keras model as one graph for rows of any length."""
    import tensorflow as tf

    from keras_bert.models.encoder import input_names

    names = input_names(network)
    signature = [tf.TensorSpec((1, None), tf.int32, name=name) for name in names]
    graph = tf.function(lambda *inputs: network(dict(zip(names, inputs, strict=True))), signature, autograph=False)
    return lambda row: graph(*(tf.constant(row[name]) for name in names)).numpy()


@contextlib.contextmanager
def on_processors(count: int) -> Iterator[None]:
    """A context that keeps all threads of this process on `count` processors, where the system can (Linux).

    TensorFlow takes a number of threads only before its first operation, and scoring wants all of them.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = {}
    first = sorted(os.sched_getaffinity(0))[:count]
    for thread in (thread.id for thread in psutil.Process().threads()):
        with contextlib.suppress(ProcessLookupError):  # it has come to its end
            before[thread] = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, first)
    try:
        yield
    finally:
        for thread, processors in before.items():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, processors)


def measure_file(task: "Task", timed: Sequence[int], write: Callable[[Path], None]) -> dict[str, Any]:
    """The `FileFootprint` of the `.tflite` file that `write` makes of a model: bytes, and milliseconds for a full row.

    `timed` are the tokens of the rows that the file is timed with. The settings of the task are attached to the file.
    """
    from keras_bert.export.bundle import attach_companions
    from keras_bert.export.files import count_download_bytes
    from keras_bert.export.runtimes import TFLiteModel

    entries = task.tokenizer.vocabulary_size
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.tflite"
        write(file)
        attach_companions(task, file)
        answer = TFLiteModel(file).predict_on_batch
        milliseconds = {str(length): time_rows(answer, [full_row(length, entries)] * TIMED_ROWS) for length in timed}
        sizes = {"bytes": file.stat().st_size, "download_bytes": count_download_bytes(file)}
        return {**sizes, "milliseconds": milliseconds}
