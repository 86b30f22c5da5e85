"""Leases of steps: of two machines that are about to run the same step, one runs it and the other waits.

A run writes a heartbeat every few seconds. A lease of a step is an object that names the run. Who finds a lease watches
the heartbeat of its run: if it has not changed for the time-out, by the clock of who watches, the lease is taken over,
by creating the lease of the next number. So neither clocks of several machines nor any request but a conditional
creation are needed. A lease only saves work: two machines that run the same step nevertheless publish two whole
artifacts.
"""

import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.dsl.heartbeat import Heartbeat
from components.objects.store import ObjectStore, number_of

HEARTBEATS = "heartbeats"
LEASES = "leases"
SECONDS_VARIABLE = "KERAS_BERT_EDGE_LEASE_SECONDS"
_SECONDS = 60.0
# Heartbeats in the time-out, so that a slow request loses no lease.
_BEATS = 6
# Without the run's own word, a removal takes a run for alive for this long: clocks of machines may differ by minutes.
_ALIVE_SECONDS = 24 * 3600


class Lease(NamedTuple):
    """A lease."""

    run: int
    owner: str
    step: str
    inputs: list[str]


def lease_seconds() -> float:
    """The time-out of leases in seconds: `$KERAS_BERT_EDGE_LEASE_SECONDS`, else 60."""
    text = os.environ.get(SECONDS_VARIABLE) or str(_SECONDS)
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise InputError(f"{SECONDS_VARIABLE} must be a number of seconds above 0, got {text!r}")


class Leases:
    """The leases of a run, and its heartbeat."""

    def __init__(self, store: ObjectStore, run: int, owner: str) -> None:
        self._store, self._run, self._owner = store, run, owner
        self._seconds = lease_seconds()
        self._watched: dict[tuple[str, int], tuple[Any, float]] = {}
        self._held: dict[str, int] = {}
        self._write_beat()
        # A server that does not answer will show in a request of the run itself; a lost lease costs no result.
        self._heartbeat = Heartbeat(self._write_beat, self._seconds / _BEATS, InputError)

    def claim(self, key: str, step: str, inputs: Sequence[str]) -> Lease | None:
        """Claims a step for this run; returns the lease of the run that has it, None if it is ours now."""
        folder = f"{LEASES}/{key}"
        number = max(self._store.numbers(folder), default=0)
        lease = _read_lease(self._store, f"{folder}/{number:06d}.json") if number else None
        if lease is not None and lease.owner != self._owner:
            beat, now = self._store.read(_heartbeat(lease.run)), time.monotonic()
            last_beat, since = self._watched.get((key, number), (None, now))
            if beat is not None and beat != last_beat:
                self._watched[key, number] = beat, now
                return lease
            if beat is not None and now - since <= self._seconds:
                return lease
        content = Lease(self._run, self._owner, step, [*inputs])._asdict() | {"claim": uuid.uuid4().hex}
        if self._store.create_json(f"{folder}/{number + 1:06d}.json", content):
            self._held[key] = number + 1
            return None
        return _read_lease(self._store, f"{folder}/{number + 1:06d}.json") or Lease(0, "another machine", step, [])

    def release(self, key: str) -> None:
        """Gives a step back, and removes the leases that expired before."""
        number = self._held.pop(key, None)
        if number is not None:
            self._store.remove(f"{LEASES}/{key}/{earlier:06d}.json" for earlier in range(1, number + 1))

    def end(self) -> None:
        """Gives everything back and ends the heartbeat."""
        self._heartbeat.stop()
        for key in [*self._held]:
            self.release(key)
        self._store.remove([_heartbeat(self._run)])

    def _write_beat(self) -> None:
        content = {"owner": self._owner, "time": time.time(), "beat": uuid.uuid4().hex}
        self._store.write(_heartbeat(self._run), json.dumps(content).encode())


def running_runs(store: ObjectStore) -> set[int]:
    """The runs with a heartbeat; those that were killed are among them."""
    return set(store.numbers(HEARTBEATS))


def end_heartbeat(store: ObjectStore, run: int) -> None:
    """Removes the heartbeat of a run that was killed."""
    store.remove([_heartbeat(run)])


def live_runs(store: ObjectStore) -> set[int]:
    """The runs whose last heartbeat is less than a day old; a removal spares what they need."""
    runs = running_runs(store)
    beats = {run: store.read_json(_heartbeat(run)) for run in runs}
    return {run for run, beat in beats.items() if beat is not None and time.time() - beat["time"] < _ALIVE_SECONDS}


def leased_inputs(store: ObjectStore, runs: set[int]) -> Iterator[str]:
    """The places of all artifacts that the steps of these runs read."""
    for name in store.find_all(LEASES):
        lease = None if number_of(name) is None else _read_lease(store, name)
        if lease is not None and lease.run in runs:
            yield from lease.inputs


def _read_lease(store: ObjectStore, name: str) -> Lease | None:
    content = store.read_json(name)
    return None if content is None else Lease(*(content[field] for field in Lease._fields))


def _heartbeat(run: int) -> str:
    return f"{HEARTBEATS}/{run:08d}.json"
