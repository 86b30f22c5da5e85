"""Files through which a launcher and the process of a step talk, wherever the process runs, on a shared file system.

The launcher writes a request and then, again and again, a beat; the process writes beats with its progress, and in the
end its outcome. Either side takes the other one for lost when its beats stay away. Beats are numbers, not times, as the
clocks of machines differ.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.paths import path_below
from components.dsl.step_folders import StepFolders
from keras_bert.core.folders import write_whole
from pipeline.orchestrator.arguments import decode_argument, encode_argument, move_artifacts
from pipeline.orchestrator.records import Cost, Outcome

BEAT_SECONDS = 1.0
LOST_SECONDS = 30.0

_REQUEST, _ARGUMENTS, _OUTCOME = "request.json", "arguments.json", "outcome.json"
_LAUNCHER, _PROCESS = "launcher.json", "process.json"


class StepRequest(NamedTuple):
    """The part of a request that every version of the project can read, with the versions that the cache key holds."""

    component: tuple[str, str]
    versions: Mapping[str, Any]
    first_party: tuple[str, ...]
    log: str
    lock: str


class LauncherBeat(NamedTuple):
    """A sign of life of the launcher; `should_end` requests the end of the process."""

    number: int
    should_end: bool = False


class ProcessBeat(NamedTuple):
    """A sign of life of the process, with its progress."""

    number: int
    done: float = 0.0
    total: float = 0.0
    note: str = ""


class Mailbox:
    """The files of one step's process, in a folder of its staging folder that the launcher sees under the same path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._root = folder, folder.parents[2]
        self.request_file = folder / _REQUEST

    def write_request(self, request: StepRequest, arguments: Mapping[str, Any], folders: StepFolders) -> None:
        """Writes the request of the launcher."""
        encoded = {name: encode_argument(value) for name, value in arguments.items()}
        write_whole(self.folder / _ARGUMENTS, {"arguments": encoded, "folders": encode_argument(folders)})
        write_whole(self.folder / _REQUEST, request._asdict())

    def read_request(self) -> StepRequest:
        """The request, without its arguments."""
        fields = json.loads(self.request_file.read_text(encoding="utf-8"))
        fields |= {name: tuple(fields[name]) for name in ("component", "first_party")}
        fields |= {name: str(path_below(self._root, fields[name])) for name in ("log", "lock")}
        return StepRequest(**fields)

    def read_arguments(self) -> tuple[dict[str, Any], StepFolders]:
        """The arguments of the component, and its folders; call it after the versions were compared."""
        content = json.loads((self.folder / _ARGUMENTS).read_text(encoding="utf-8"))
        arguments = {name: decode_argument(value) for name, value in content["arguments"].items()}
        folders: StepFolders = decode_argument(content["folders"])
        for path in filter(None, vars(folders).values()):
            path_below(self._root, str(path))
        return move_artifacts(arguments, lambda path: path_below(self._root, str(path))), folders

    def write_launcher_beat(self, beat: LauncherBeat) -> None:
        """Writes a sign of life of the launcher."""
        write_whole(self.folder / _LAUNCHER, beat._asdict())

    def read_launcher_beat(self) -> LauncherBeat | None:
        """The newest sign of life of the launcher; None if it cannot be read at this moment."""
        fields = read_visible(self.folder / _LAUNCHER)
        return LauncherBeat(**fields) if fields else None

    def write_process_beat(self, beat: ProcessBeat) -> None:
        """Writes a sign of life of the process."""
        write_whole(self.folder / _PROCESS, beat._asdict())

    def read_process_beat(self) -> ProcessBeat | None:
        """The newest sign of life of the process; None if it has not started."""
        fields = read_visible(self.folder / _PROCESS)
        return ProcessBeat(**fields) if fields else None

    def write_outcome(self, outcome: Outcome) -> None:
        """Writes the outcome, the last message of the process."""
        cost = None if outcome.cost is None else outcome.cost._asdict()
        write_whole(self.folder / _OUTCOME, outcome._asdict() | {"cost": cost})

    def read_outcome(self) -> Outcome | None:
        """The outcome; None if the process has not reported one."""
        fields = read_visible(self.folder / _OUTCOME)
        cost = fields.pop("cost", None)
        return Outcome(**fields, cost=None if cost is None else Cost(**cost)) if fields else None


def read_visible(file: Path) -> dict[str, Any]:
    """The content of a JSON file that another process writes; empty if there is none that can be read at this moment.

    On some network file systems a file is not replaced at once.
    """
    with contextlib.suppress(OSError, ValueError):
        # To list the folder makes clients of a network file system look for new files.
        if file.name in os.listdir(file.parent):
            return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}
