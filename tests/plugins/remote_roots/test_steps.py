"""Single steps in a root in memory, seen from several machines, each with a mirror of its own."""

import contextlib
import threading

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import locked_root
from pipeline.orchestrator.root_store import ABANDONED_SECONDS
from pipeline.orchestrator.runner import run_pipeline
from plugins.remote_roots.artifacts import LIMIT_VARIABLE
from plugins.remote_roots.leases import SECONDS_VARIABLE
from plugins.remote_roots.log import RunLog
from plugins.remote_roots.mirror import cache_locked
from plugins.remote_roots.roots import ObjectStorageRoots
from plugins.remote_roots.store import place_of
from tests.components.objects.memory import ADDRESS
from tests.pipeline.orchestrator import toy
from tests.plugins.remote_roots.test_root import PRELOAD, run, states, store_of

PLAN = {"write": [], "shout": ["write"]}


def step(root, name, value="hello", **options):
    loud = toy.shout(text=toy.write(value=value).output(toy.Text))
    return run_pipeline(Pipeline("toy", [loud]), root, request=Request(only=name), preload=PRELOAD, **options)


def runs(root):
    with store_of(root) as store:
        return [
            (row.id, row.state, row.invocation, [past.node for past in store.executions(row.id)])
            for row in store.runs()
        ]


def rows(root):
    with store_of(root) as store:
        tables = [store.connection.execute(f"SELECT * FROM {name}").fetchall() for name in ("runs", "executions")]
        return [*tables, store.artifacts()]


def test_steps_on_three_machines_are_one_run(machine, memory):
    whole = run(machine("whole"), "whole")
    assert states(step(machine("one"), "write", invocation="monday")) == ["ran"]
    assert runs(machine("watching"))[0] == (2, "running", "monday", ["write"])
    other = step(machine("other"), "shout", invocation="monday")
    assert (states(other), other.run) == (["ran"], 2)
    assert [text.read() for text in other.artifacts(toy.Text)] == ["HELLO!"]
    assert runs(machine("one")) == [
        (2, "done", "monday", ["write", "shout"]),
        (whole.run, "done", None, ["write", "shout"]),
    ]
    assert {name.split("/")[3] for name in memory.find_all("artifacts")} == {"1", "2", "3"}, "a place for each process"
    assert rows(machine("one")) == rows(machine("other")) == rows(machine("new"))
    assert not [*memory.find_all("leases"), *memory.find_all("heartbeats")]
    assert states(run(machine("new"))) == ["cached", "cached"]


def test_a_step_that_is_done_is_recorded_once_a_run(machine):
    step(machine("one"), "write", invocation="monday")
    assert states(step(machine("other"), "write", invocation="monday")) == ["cached"]
    assert states(step(machine("other"), "write")) == ["cached"]
    assert runs(machine("one")) == [(3, "partial", None, ["write"]), (1, "running", "monday", ["write"])]


def test_refuses_step_whose_inputs_are_missing(machine, memory):
    with pytest.raises(InputError, match=f"^shout needs the steps before it done, but write is not in {ADDRESS}; run"):
        step(machine("one"), "shout", invocation="monday")
    assert not [*memory.find_all("log"), *memory.find_all("heartbeats")]


def test_two_first_steps_at_once_start_one_run(machine, memory):
    with store_of(machine("one")) as one, store_of(machine("other")) as other:
        assert one.join_run("toy", None, PLAN, "monday") == 1
        assert other.connection.execute("SELECT count(*) FROM runs").fetchone() == (0,), "it does not know"
        assert other.join_run("toy", None, PLAN, "monday") == 1
    with store_of(machine("third")) as third:
        with pytest.raises(InputError, match=r"--run must identify a run of the job 'hat', got 'monday' of 'toy'"):
            third.join_run("hat", None, {}, "monday")
        assert third.join_run("toy", None, PLAN, "tuesday") == 3
    assert [row[:3] for row in runs(machine("new"))] == [(3, "running", "tuesday"), (1, "running", "monday")]


def test_another_job_with_the_same_identifier_at_once_is_refused(machine):
    with store_of(machine("one")) as one, store_of(machine("other")) as other:
        one.join_run("toy", None, PLAN, "monday")
        with pytest.raises(InputError, match=r"--run must identify a run of the job 'hat', got 'monday' of 'toy'"):
            other.join_run("hat", None, {}, "monday")
    assert len(runs(machine("new"))) == 1


def test_a_number_that_many_claim_at_once_has_one_owner(memory):
    claims = []

    def claim(name):
        content = {"joins": None, "claim": name}
        claims.append(RunLog(memory).claim(1, content, lambda number, other: None))

    threads = [threading.Thread(target=claim, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claims) == [(number, number) for number in range(1, 9)]


def test_a_failure_ends_the_run_for_all_and_a_retry_goes_on(machine):
    def go(root, name, how):
        pipeline, request = Pipeline("toy", toy.misbehaving(how)), Request(only=name)
        return run_pipeline(pipeline, root, request=request, invocation="i", preload=PRELOAD).state

    go(machine("one"), "write", "crash")
    assert go(machine("other"), "behave", "crash") == "failed"
    assert runs(machine("third"))[0][1] == "failed"
    assert go(machine("third"), "behave", "well") == go(machine("one"), "initial", "well") == "done"
    assert runs(machine("other")) == [(1, "done", "i", ["write", "behave", "behave", "initial"])]
    assert rows(machine("one")) == rows(machine("fourth"))


def test_the_same_step_on_another_machine_is_waited_for(machine, memory, monkeypatch):
    monkeypatch.setenv(SECONDS_VARIABLE, "2")
    earlier = step(machine("one"), "write")
    with store_of(machine("one")) as store:
        key = store.executions(earlier.run)[0].key
        store.forget([str(published.artifact.path) for published in store.artifacts()])
        store.join_run("toy", None, PLAN, "monday")
        leases, store._leases = store._leases, None  # killed: nothing is given back
    leases.claim(key, "write", [])
    leases._heartbeat.stop()
    lines = []

    class Lines(Observer):
        def say(self, text):
            lines.append(text)

    assert states(step(machine("other"), "write", invocation="monday", observer=Lines())) == ["ran"]
    assert [line.partition(" (")[0] for line in lines if "is running it" in line] == ["write: run 2"]
    with store_of(machine("one")) as store:
        store.start_run("toy")  # of the mirror of the killed step
        store.finish_run(4, "done")
    assert runs(machine("new"))[1][:2] == (2, "running")
    assert {name for name in memory.find_all("log") if name.endswith("end.json")} == {
        f"log/{number:08d}/end.json" for number in (1, 2, 3, 4)
    }


def test_an_abandoned_run_is_interrupted_and_what_a_running_one_made_is_no_garbage(machine):
    step(machine("one"), "write", "first", invocation="i")
    run(machine("other"))
    root = machine("third")
    with store_of(root) as store:
        assert ObjectStorageRoots().find_garbage(store, root, keep=1).artifacts == {}
        store.connection.execute("UPDATE runs SET started = started - ?", (ABANDONED_SECONDS,))
        store.connection.execute("UPDATE executions SET ended = ended - ?", (ABANDONED_SECONDS,))
    with store_of(root) as store:
        assert store.runs()[1].state == "interrupted"
        assert len(ObjectStorageRoots().find_garbage(store, root, keep=1).artifacts) == 1


def test_steps_share_a_mirror_and_a_run_has_it_alone(machine):
    root = machine("one")
    with locked_root(root, is_shared=True):
        assert states(step(root, "write")) == ["ran"]
        with pytest.raises(InputError, match="root must be free"):
            run(root)
    with locked_root(root), pytest.raises(InputError, match="another run holds it"):
        step(root, "write")


@pytest.mark.parametrize("is_read", [False, True])
def test_a_full_cache_keeps_what_another_step_reads(machine, monkeypatch, is_read):
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    root = machine("one")
    step(root, "write")
    assert not [*root.glob("artifacts/*/*")], "nothing reads it"
    with cache_locked(root, is_alone=False) if is_read else contextlib.nullcontext():
        step(root, "shout")
    assert len([*root.glob("artifacts/*/*")]) == (2 if is_read else 0)


def test_what_a_damaged_artifact_is_made_to_anew_has_a_place_of_its_own(machine, memory):
    step(machine("one"), "write", invocation="i")
    (text,) = (name for name in memory.find_all("artifacts/write") if name.endswith("text.txt"))
    memory.write(text, b"hellO")
    with pytest.raises(InputError, match="must be intact, and is damaged or missing; run again"):
        step(machine("other"), "shout", invocation="i")
    assert states(step(machine("third"), "write", invocation="i")) == ["ran"]
    assert states(step(machine("fourth"), "shout", invocation="i")) == ["ran"]
    assert memory.read(text) == b"hellO", "nothing is written twice"
    with store_of(machine("new")) as store:
        assert [place_of(made.artifact).rpartition("/")[2] for made in store.artifacts()] == ["4", "3"]
        assert store.runs()[0].state == "done"
