"""One run has a step; a run that was killed loses it after the time-out."""

import time

import pytest

from components.dsl.errors import InputError
from plugins.remote_roots.leases import SECONDS_VARIABLE, Leases, lease_seconds, leased_inputs, live_runs, running_runs


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setenv(SECONDS_VARIABLE, "0.3")


def test_one_run_has_a_step_until_it_gives_it_back(memory):
    one, other = Leases(memory, 1, "a"), Leases(memory, 2, "b")
    assert one.claim("key", "train", ["artifacts/x/1"]) is None
    lease = other.claim("key", "train", [])
    assert (lease.run, lease.owner, lease.step) == (1, "a", "train")
    assert other.claim("other", "train", []) is None
    assert list(leased_inputs(memory, {1})) == ["artifacts/x/1"]
    one.release("key")
    assert other.claim("key", "train", []) is None
    one.end()
    other.end()
    assert memory.find_all() == {}


def test_a_heartbeat_keeps_a_lease(memory):
    one, other = Leases(memory, 1, "a"), Leases(memory, 2, "b")
    one.claim("key", "train", [])
    deadline = time.monotonic() + 0.8
    while time.monotonic() < deadline:
        assert other.claim("key", "train", []) is not None
        time.sleep(0.02)
    one.end()
    other.end()


def test_a_run_that_was_killed_loses_its_lease_after_the_timeout(memory):
    one, other = Leases(memory, 1, "a"), Leases(memory, 2, "b")
    one.claim("key", "train", [])
    one._heartbeat.stop()  # its thread writes no more, as after a kill
    start = time.monotonic()
    while other.claim("key", "train", []) is not None:
        assert time.monotonic() < start + 5
        time.sleep(0.02)
    assert time.monotonic() - start >= 0.3
    other.release("key")
    assert running_runs(memory) == live_runs(memory) == {1, 2}
    other.end()
    assert list(memory.find_all()) == ["heartbeats/00000001.json"]


def test_a_killed_run_of_the_same_mirror_is_not_waited_for(memory):
    one = Leases(memory, 1, "a")
    one.claim("key", "train", [])
    again = Leases(memory, 2, "a")
    assert again.claim("key", "train", []) is None
    one.end()
    again.end()


def test_bad_seconds_are_refused(monkeypatch):
    monkeypatch.setenv(SECONDS_VARIABLE, "soon")
    with pytest.raises(InputError, match="must be a number of seconds above 0, got 'soon'"):
        lease_seconds()
