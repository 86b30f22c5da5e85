"""Jobs small enough to be killed often: commands that run one under a root."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.tiny_job import SETTINGS, write_job

# What the tiny job has not: with these each step of a compressed classifier runs.
_COMPRESSION = """
[fitted_vocabulary]
min_count = 1
[general_distillation]
path = "texts"
hidden_states = 1.0
xla = "off"
epochs = 1.0
precision = "float32"
[pruning]
xla = "off"
epochs = 1.0
learning_rate = 1e-3
precision = "float32"
"""


class Job(NamedTuple):
    """What is killed.

    Attributes:
        command: root -> the command that runs it there, and exits with 0 when all is done.
        most_kills: after so many a run is left to end: one that needs longer than what is left to it never would.
    """

    command: Callable[[Path], list[str]]
    most_kills: int


def toy() -> Job:
    """Steps of milliseconds, so that kills land in the runtime's own code."""
    return Job(lambda root: [sys.executable, "-m", "benchmarks.killed.toy_run", str(root)], most_kills=12)


def of_settings(file: Path) -> Job:
    """A job of a settings file."""
    command = [sys.executable, "-m", "pipeline", "run", str(file), "--root"]
    return Job(lambda root: [*command, str(root)], most_kills=30)


def tiny(folder: Path) -> Job:
    """The tests' tiny job with every step of compression; its files are written into an empty folder."""
    file = write_job(folder / "job")
    file.write_text(SETTINGS + _COMPRESSION)
    return of_settings(file)
