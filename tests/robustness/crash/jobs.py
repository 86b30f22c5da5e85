"""Jobs that are small enough to be killed often."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.robustness.installed_plugins import is_installed
from tests.tiny_job import SETTINGS, write_job

# What the tiny job lacks: with it each step of a compressed classifier runs.
_OVERLAP = """
train = "rows.tsv"
overlap = "drop"
"""
_TABLES = """
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
[teacher_labels]
copies = 1
"""


_PLUGIN_TESTS = Path(__file__).parents[2] / "plugins"


class Job(NamedTuple):
    """A job of a crash test.

    Attributes:
        command: root, or its address -> the command that runs the job there, and exits with 0 when it is done.
        max_kills: kills of one root; then its run may end, as a step longer than the time between kills never would.
    """

    command: Callable[[Path | str], list[str]]
    max_kills: int


def toy_job() -> Job:
    """Steps of milliseconds, so that kills hit the orchestrator."""
    return Job(lambda root: [sys.executable, "-m", "tests.robustness.crash.toy_pipeline", str(root)], max_kills=12)


def settings_job(file: Path) -> Job:
    """A job of a settings file."""
    command = [sys.executable, "-m", "pipeline", "run", str(file), "--root"]
    return Job(lambda root: [*command, str(root)], max_kills=30)


def tiny_job(folder: Path) -> Job:
    """The tests' tiny job with every step of a classifier; writes its files into an empty folder.

    Tables of plug-ins that are installed are in `tests/plugins/NAME/crash.toml`.
    """
    file = write_job(folder / "job")
    file.write_text(SETTINGS.replace('\ntrain = "rows.tsv"\n', _OVERLAP) + _TABLES)
    for tables in sorted(_PLUGIN_TESTS.glob("*/crash.toml")):
        if is_installed(tables.parent.name):
            file.write_text(file.read_text() + tables.read_text())
    return settings_job(file)
