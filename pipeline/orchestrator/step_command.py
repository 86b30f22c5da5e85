"""The command of a step's own process, which `[machine] launch` starts, and the environment of all processes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

STEP_REQUEST = "--step-request"
# The environment variable with the identifier of an orchestrator's run.
RUN_VARIABLE = "KERAS_BERT_EDGE_RUN"


def step_command(python: str, request_file: Path) -> list[str]:
    """The command that runs the step of a request file; `-P` keeps modules of the working directory out."""
    return [python, "-P", "-m", "keras_bert_edge", STEP_REQUEST, str(request_file)]


@contextlib.contextmanager
def without_keras_settings() -> Iterator[None]:
    """Inside of the block, processes that import Keras take TensorFlow and float32, whatever the user has set."""
    # Keras reads keras.json in KERAS_HOME, where there is none.
    settings = {"KERAS_BACKEND": "tensorflow", "KERAS_HOME": os.devnull}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
