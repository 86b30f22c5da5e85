"""Measures the time of each kind of operation in an `.onnx` file, with ONNX Runtime's profiler."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_bert.export.runtimes import Array, open_session

# The suffix of a profile event with the time that a node's kernel takes.
_KERNEL = "_kernel_time"


class ProfiledOperation(NamedTuple):
    """The nodes of one kind in a profile, as ONNX Runtime runs them: it may fuse several operations of the file.

    The milliseconds are the mean time per inference, of all these nodes together.
    """

    name: str
    nodes: int
    milliseconds: float


def profile_onnx(path: str | os.PathLike[str], row: Mapping[str, Array], answers: int) -> list[ProfiledOperation]:
    """Profiles an `.onnx` file on one thread and a row (1, length); returns its kinds of operations, the slowest first.

    The times are means of `answers` inferences, after as many for warm-up, and include the overhead of the profiler.

    Raises:
        ValueError: the file is not an `.onnx` file.
    """
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(path, profile=os.fspath(Path(folder) / "profile"))
        inputs = {given.name: np.asarray(row[given.name], np.int32) for given in session.get_inputs()}
        for _ in range(2 * answers):
            session.run(None, inputs)
        events = json.loads(Path(session.end_profiling()).read_text())
    kernels = [event for event in events if event.get("cat") == "Node" and event["name"].endswith(_KERNEL)]
    # Each answer runs the same nodes: the second half of the events belongs to the second half of the answers.
    counted = kernels[len(kernels) // 2 :]
    spent: Counter[str] = Counter()
    places: dict[str, set[str]] = {}
    for event in counted:
        kind = event["args"]["op_name"]
        spent[kind] += event["dur"]
        places.setdefault(kind, set()).add(event["name"])
    return [ProfiledOperation(kind, len(places[kind]), total / 1000 / answers) for kind, total in spent.most_common()]
