"""The log of a remote root: immutable objects, each written once, that tell all runs and executions.

    log/00000003/start.json       a run was started; who creates it has claimed the number
    log/00000003/000001.json      its first execution, with the artifacts that it read and made
    log/00000003/end.json         its end
    forgotten/00000001.json       artifacts that were removed

Only the run itself writes below its number, one object after the other, so that each machine sees a prefix of them.
"""

import json
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from components.objects.store import ObjectStore

LOG = "log"
FORGOTTEN = "forgotten"
START, END = "start", "end"


class LogEntry(NamedTuple):
    """An object of the log.

    Attributes:
        name: its name in the root.
        run: the number of the run; 0 for removed artifacts.
        part: `start`, `end`, or the number of an execution, from 1, as text.
        content: the JSON content.
    """

    name: str
    run: int
    part: str
    content: dict[str, Any]


class RunLog:
    """The log of a remote root.

    Args:
        store: the objects of the root.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def new_entries(self, seen: Set[str]) -> Iterator[LogEntry]:
        """The entries whose names were not seen before: runs in order, each from its start, then removals.

        Entries of a run whose end was seen are not looked for.
        """
        for run in self._store.children(LOG):
            if f"{LOG}/{run}/{END}.json" in seen:
                continue
            names = [name for name in self._store.find_all(f"{LOG}/{run}") if name not in seen]
            # Digits sort before letters: the start first, then executions, then the end.
            names.sort(key=lambda name: (not name.endswith(f"/{START}.json"), name))
            yield from self._read(names)
        yield from self._read([f"{FORGOTTEN}/{name}" for name in self._store.children(FORGOTTEN)], seen)

    def claim_run(self, number: int, content: dict[str, Any]) -> int:
        """Starts a run under the first free number from `number` on, and returns it."""
        while not self._store.create_json(entry_name(number, START), content):
            number += 1
        return number

    def append(self, run: int, part: str, content: dict[str, Any]) -> bool:
        """Writes an entry of a run; returns False if there is another one of this name."""
        return self._store.create_json(entry_name(run, part), content)

    def forget(self, content: dict[str, Any]) -> str:
        """Records that artifacts are removed, and returns the name of the entry."""
        number = len(self._store.children(FORGOTTEN)) + 1
        while not self._store.create_json(name := f"{FORGOTTEN}/{number:08d}.json", content):
            number += 1
        return name

    def _read(self, names: list[str], seen: Set[str] = frozenset()) -> Iterator[LogEntry]:
        names = [name for name in names if name not in seen]
        contents = self._store.read_all(names)
        for name in names:
            folder, _, file = name.rpartition("/")
            run = 0 if folder == FORGOTTEN else int(folder.rpartition("/")[2])
            yield LogEntry(name, run, file.removesuffix(".json").lstrip("0"), json.loads(contents[name]))


def entry_name(run: int, part: str) -> str:
    """The name of an entry."""
    return f"{LOG}/{run:08d}/{part.rjust(6, '0') if part.isdecimal() else part}.json"
