"""Single steps as orchestrators run them: sequentially, concurrently, killed, and during a run."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.locks import find_holders
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import locked_root
from pipeline.orchestrator.root_store import ABANDONED_SECONDS
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from pipeline.provenance.garbage import find_garbage, remove_garbage
from tests.pipeline.orchestrator import toy
from tests.pipeline.orchestrator.test_runner import REPOSITORY, chain, states
from tests.processes import wait_for


def step(root, name, value="hello", **options):
    return run_pipeline(Pipeline("toy", [chain(value)]), root, request=Request(only=name), preload=(), **options)


def runs(root):
    with contextlib.closing(Store(root)) as store:
        return [
            (run.state, run.invocation, [execution.state for execution in store.executions(run.id)])
            for run in store.runs()
        ]


def test_single_steps_give_the_outputs_of_a_run(tmp_path):
    whole = run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path / "whole", preload=())
    for name in ("write", "initial", "shout"):
        result = step(tmp_path / "root", name, invocation="monday")
        assert states(result) == {name: "ran"}
        expected = {key: output.fingerprint() for key, output in whole.step(name).outputs.items()}
        assert {key: output.fingerprint() for key, output in result.step(name).outputs.items()} == expected
    assert runs(tmp_path / "root") == [("done", "monday", ["ran", "ran", "ran"])]
    cached = run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path / "root", preload=())
    assert set(states(cached).values()) == {"cached"}


def test_refuses_step_with_missing_inputs_and_names_the_first(tmp_path):
    root = tmp_path / "new" / "root"
    message = f"shout needs the steps before it done, but write is not in {root}; run the step write first"
    with pytest.raises(InputError, match=f"^{message}$"):
        step(root, "shout")
    assert list(tmp_path.iterdir()) == [], "a root that was made for it is removed"
    step(root, "write")
    with pytest.raises(InputError, match="but initial is not in"):
        step(root, "shout")
    assert len(runs(root)) == 1


def test_refuses_inputs_of_another_version_and_names_what_changed(tmp_path):
    step(tmp_path, "write")
    step(tmp_path, "initial")
    with pytest.raises(InputError, match=r"but write is not in .* as it is here: its last run had another setting"):
        step(tmp_path, "shout", "howdy")
    with contextlib.closing(Store(tmp_path)) as store:
        for key, content in store.connection.execute("SELECT key, content FROM ingredients").fetchall():
            changed = json.dumps(json.loads(content) | {"libraries": {"numpy": "1.0"}})
            store.connection.execute("UPDATE ingredients SET content = ? WHERE key = ?", (changed, key))
        store.connection.execute("UPDATE executions SET key = key || 'x'")
        store.connection.execute("PRAGMA foreign_keys = OFF")
        store.connection.execute("UPDATE ingredients SET key = key || 'x'")
    with pytest.raises(InputError, match="as it is here: its last run had another library numpy; run the step write f"):
        step(tmp_path, "shout")


def test_refuses_unknown_step(tmp_path):
    with pytest.raises(InputError, match=r"STEP must name a step of the run, got 'shuot'; did you mean 'shout'\?"):
        step(tmp_path / "root", "shuot")
    assert list(tmp_path.iterdir()) == []


def test_finished_step_is_recorded_once_per_invocation(tmp_path):
    for _ in range(2):
        step(tmp_path, "write", invocation="monday")
    assert states(step(tmp_path, "write", invocation="tuesday")) == {"write": "cached"}
    assert states(step(tmp_path, "write")) == {"write": "cached"}
    assert runs(tmp_path) == [
        ("partial", None, ["cached"]),
        ("running", "tuesday", ["cached"]),
        ("running", "monday", ["ran"]),
    ]


def test_failed_step_ends_the_invocation_and_a_retry_resumes_it(tmp_path):
    def go(name, how):
        pipeline = Pipeline("toy", toy.misbehaving(how))
        return run_pipeline(pipeline, tmp_path, request=Request(only=name), invocation="i", preload=()).state

    go("write", "crash")
    assert go("behave", "crash") == "failed"
    assert runs(tmp_path) == [("failed", "i", ["ran", "failed"])]
    assert go("behave", "refusal") == "refused"
    assert runs(tmp_path)[0][0] == "refused"
    assert go("behave", "well") == go("initial", "well") == "done"
    assert runs(tmp_path) == [("done", "i", ["ran", "failed", "refused", "ran", "ran"])]


def test_refuses_invocation_of_another_job(tmp_path):
    step(tmp_path, "write", invocation="i")
    other = Pipeline("other", [toy.write()])
    with pytest.raises(InputError, match=r"--run must identify a run of the job 'other', got 'i' of 'toy'"):
        run_pipeline(other, tmp_path, request=Request(only="write"), invocation="i", preload=())


def test_artifacts_of_an_unfinished_invocation_are_no_garbage(tmp_path):
    step(tmp_path, "write", "first", invocation="i")
    run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path, preload=())
    with contextlib.closing(Store(tmp_path)) as store:
        assert store.runs()[1].state == "running", "a run that begins later leaves it alone"
        assert find_garbage(store, tmp_path, keep=1).artifacts == {}
        store.connection.execute("UPDATE runs SET started = started - ?", (ABANDONED_SECONDS,))
        store.connection.execute("UPDATE executions SET ended = ended - ?", (ABANDONED_SECONDS,))
    run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path, preload=())
    with contextlib.closing(Store(tmp_path)) as store:
        assert store.runs()[2].state == "interrupted"
        garbage = find_garbage(store, tmp_path, keep=1)
        assert len(garbage.artifacts) == 1
        remove_garbage(store, tmp_path, garbage)


class DrivenStep:
    """A step of `drive_step` in a process of its own."""

    def __init__(self, folder, name, seconds=20.0):
        command = [sys.executable, "-m", "tests.pipeline.orchestrator.drive_step", str(folder / "root"), name]
        self.process = subprocess.Popen(
            [*command, str(folder / "place"), str(seconds)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, status=0):
        """The lines that it printed, at its end."""
        output = self.process.communicate(timeout=30)[0]
        assert self.process.returncode == status, output
        return [line for line in output.splitlines() if not line.startswith("time:")]


def test_two_steps_run_concurrently_and_the_same_step_runs_once(tmp_path):
    DrivenStep(tmp_path, "write").end()
    first = DrivenStep(tmp_path, "meet_a")
    wait_for((tmp_path / "place" / "a").exists)
    twin = DrivenStep(tmp_path, "meet_a")
    waits = twin.process.stdout.readline()
    assert waits.startswith("meet_a: waits for the same step (meet_a, process "), waits
    other = DrivenStep(tmp_path, "meet_b")
    assert (first.end(), other.end()) == (["meet_a ran"], ["meet_b ran"])
    assert twin.end() == ["meet_a cached"]
    with contextlib.closing(Store(tmp_path / "root")) as store:
        (run,) = store.runs()
        met = {x.node: x.state for x in store.executions(run.id)}
        assert met == {"write": "ran", "meet_a": "ran", "meet_b": "ran"}
        assert len(store.executions(run.id)) == 3
        texts = [toy.Text(tmp_path / "root" / str(made.artifact.path)).read() for made in store.artifacts()]
    assert texts.count("True") == 2, "each saw the other"


def test_measurement_waits_for_other_steps_on_the_machine(tmp_path):
    DrivenStep(tmp_path, "write").end()
    slow = DrivenStep(tmp_path, "meet_a", seconds=1.5)
    wait_for((tmp_path / "place" / "a").exists)
    measure = DrivenStep(tmp_path, "meet_c", seconds=0.1)
    assert slow.end() == ["meet_a ran"]
    assert measure.end() == [
        "meet_c: waits for other steps on this machine, to measure time alone",
        "meet_c ran",
    ]
    (measured,) = (tmp_path / "root" / "artifacts" / "meet_c").glob("*/text.txt")
    assert measured.read_text() == "False"


def test_refuses_run_while_single_steps_run_and_keeps_their_staging(tmp_path):
    DrivenStep(tmp_path, "write").end()
    slow = DrivenStep(tmp_path, "meet_a")
    wait_for((tmp_path / "place" / "a").exists)
    (staging,) = (tmp_path / "root" / ".staging").iterdir()
    message = rf"root must be free, got .*: steps run in it \(meet_a, process {slow.process.pid} on "
    with pytest.raises(InputError, match=message):
        run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path / "root", preload=())
    # Nor does another step, which shares the root.
    step(tmp_path / "root", "write", "howdy")
    assert staging.is_dir()
    (tmp_path / "place" / "b").touch()
    assert slow.end() == ["meet_a ran"]
    assert find_holders(tmp_path / "root") == []
    run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path / "root", preload=())
    assert list((tmp_path / "root" / ".locks").iterdir()) == []


def test_refuses_step_while_a_run_holds_the_root(tmp_path):
    with (
        locked_root(tmp_path),
        pytest.raises(InputError, match=rf"another run holds it \(run, process {os.getpid()} on"),
    ):
        step(tmp_path, "write")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_step_runs_again_and_its_staging_is_removed(tmp_path, number):
    DrivenStep(tmp_path, "write").end()
    slow = DrivenStep(tmp_path, "meet_a", seconds=60.0)
    wait_for((tmp_path / "place" / "a").exists)
    slow.process.send_signal(number)
    slow.end(-number if number is signal.SIGKILL else 130)
    staging = tmp_path / "root" / ".staging"
    assert len(list(staging.iterdir())) == (number is signal.SIGKILL)
    (tmp_path / "place" / "b").touch()
    assert DrivenStep(tmp_path, "meet_a").end() == ["meet_a ran"]
    assert list(staging.iterdir()) == []
