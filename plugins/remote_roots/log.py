"""The log of a remote root: immutable objects, each written once, that tell all runs and executions.

    log/00000003/start.json       a run was started; who creates it has claimed the number
    log/00000003/000001.json      its first execution, with the artifacts that it read and made
    log/00000003/end.json         its end
    forgotten/00000001.json       artifacts that were removed

Only one process writes below a number, one object after the other, so that each machine sees a prefix of them. A run
whose steps are commands of their own has a number for each command: `joins` names that of its first one.
"""

import json
import re
from collections.abc import Callable, Iterator, Set
from typing import Any, NamedTuple

from components.objects.store import ObjectStore

LOG = "log"
FORGOTTEN = "forgotten"
START, END = "start", "end"
# People and tools may leave other objects beside the entries.
_ENTRY = re.compile(rf"({LOG}/[0-9]{{8,}}/({START}|{END}|[0-9]{{6,}})|{FORGOTTEN}/[0-9]{{8,}})\.json")


class LogEntry(NamedTuple):
    """An object of the log. Its part is `start`, `end` or an execution's number, from 1; number 0 removes artifacts."""

    name: str
    number: int
    part: str
    content: dict[str, Any]


class RunLog:
    """The log of a remote root."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def new_entries(self, seen: Set[str]) -> Iterator[LogEntry]:
        """The entries whose names were not seen before: numbers in order, each from its start, then removals.

        Entries of a number whose end was seen are not looked for.
        """
        for number in self._store.numbers(LOG):
            if entry_name(number, END) in seen:
                continue
            yield from self._read(f"{LOG}/{number:08d}", seen)
        yield from self._read(FORGOTTEN, seen)

    def claim(
        self, number: int, content: dict[str, Any], joined_run: Callable[[int, dict[str, Any]], int | None]
    ) -> tuple[int, int]:
        """Claims the first free number from `number` on; returns it and the number of its run, which it may join.

        `content` is the entry that starts the run; `joins` is added. `joined_run` sees a number and its first entry
        that other processes have claimed since, and returns the run to join if that is the same run, else None.
        """
        run = content["joins"]
        while not self._store.create_json(entry_name(number, START), content | {"joins": run}):
            run = run or joined_run(number, self._store.read_json(entry_name(number, START)))
            number += 1
        return number, run or number

    def append(self, number: int, part: str, content: dict[str, Any]) -> bool:
        """Writes an entry; returns False if there is another one of this name."""
        return self._store.create_json(entry_name(number, part), content)

    def forget(self, content: dict[str, Any]) -> str:
        """Records that artifacts are removed, and returns the name of the entry."""
        number = len(self._store.children(FORGOTTEN)) + 1
        while not self._store.create_json(name := f"{FORGOTTEN}/{number:08d}.json", content):
            number += 1
        return name

    def _read(self, folder: str, seen: Set[str]) -> Iterator[LogEntry]:
        names = [name for name in self._store.find_all(folder) if name not in seen and _ENTRY.fullmatch(name)]
        # Digits sort before letters: the start first, then executions, then the end.
        names.sort(key=lambda name: (not name.endswith(f"/{START}.json"), name))
        contents = self._store.read_all(names)
        for name in names:
            folder, _, file = name.rpartition("/")
            number = 0 if folder == FORGOTTEN else int(folder.rpartition("/")[2])
            yield LogEntry(name, number, file.removesuffix(".json").lstrip("0"), json.loads(contents[name]))


def entry_name(number: int, part: str) -> str:
    """The name of an entry."""
    return f"{LOG}/{number:08d}/{part.rjust(6, '0') if part.isdecimal() else part}.json"
