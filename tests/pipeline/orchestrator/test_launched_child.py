"""Steps in processes that programs start: the results of forked ones, and nothing left when either side is killed."""

import contextlib
import signal
import sys
import time

import psutil
import pytest

from components.dsl.errors import InputError
from components.dsl.step_folders import StepFolders
from pipeline.machine import Launch, Machine
from pipeline.orchestrator import launched_child, scheduler
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.launched_process import check_versions
from pipeline.orchestrator.mailbox import Mailbox, StepRequest
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator import toy
from tests.pipeline.orchestrator.test_runner import REPOSITORY, RecordingObserver, SubprocessRun, chain, states


@pytest.fixture(autouse=True)
def nearby_processes(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    # Processes of these tests are not on another machine.
    monkeypatch.setattr(launched_child, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(launched_child, "_SETTLE_SECONDS", 0.2)


def run(root, *outputs, machine, **options):
    return run_pipeline(Pipeline("toy", outputs), root, preload=(), machine=machine, **options)


def shell(script):
    """Steps that a shell starts; `"$@"` is the command."""
    return Machine(launch=("sh", "-c", script, "sh"))


def test_the_result_is_that_of_a_forked_step(tmp_path):
    machine = Machine(launch=Launch(data=("env", "MARK=1")))
    launched = run(tmp_path / "launched", chain("hello"), machine=machine)
    forked = run(tmp_path / "forked", chain("hello"), machine=Machine())
    for name in ("write", "initial", "shout"):
        (outputs, others) = (result.step(name).outputs for result in (launched, forked))
        assert [output.fingerprint() for output in outputs.values()] == [
            output.fingerprint() for output in others.values()
        ]
    assert (tmp_path / "launched" / "logs" / "1" / "write.log").read_text() == "writing hello\n"
    with contextlib.closing(Store(tmp_path / "launched")) as store:
        costs = [execution.cost for execution in store.executions(1)]
    assert all(cost is not None and cost.cpu_seconds > 0 and cost.peak_bytes > 1e6 for cost in costs)
    assert not (tmp_path / "launched" / ".staging").exists()
    again = run(tmp_path / "launched", chain("hello"), machine=Machine())
    assert set(states(again).values()) == {"cached"}, "how a step is started changes no key"


def test_kinds_of_steps_have_programs_of_their_own(tmp_path):
    mark = tmp_path / "started"
    prefix = ("sh", "-c", f'echo x >> {mark}; exec "$@"', "sh")
    text = toy.write().output(toy.Text)
    measure = toy.meet_alone(text=text, me="c", other="nobody", folder=str(tmp_path), seconds=0.0)
    run(tmp_path / "root", measure, machine=Machine(launch=Launch(measurement=prefix)))
    assert mark.read_text() == "x\n"


@pytest.mark.parametrize(
    ("how", "state", "message"),
    [
        ("crash", "failed", "Step behave failed: KeyError: 'surprise'"),
        ("refusal", "refused", "not good enough"),
        ("killed", "failed", "Step behave failed: was killed by SIGKILL; the system may have run out of memory"),
    ],
)
def test_outcomes_reach_the_launcher(tmp_path, how, state, message):
    result = run(tmp_path, *toy.misbehaving(how), machine=Machine(launch=("env",)))
    assert states(result) == {"write": "ran", "behave": state, "initial": "skipped"}
    assert result.message.startswith(message)
    if how == "crash":
        assert "about to fail" in (tmp_path / "logs" / "1" / "behave.log").read_text()


def test_a_process_that_is_killed_behind_a_shell_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_SECONDS", 0.05)
    recorder = RecordingObserver()
    lively = toy.count_lives(text=toy.write().output(toy.Text), lives=2)
    # The shell reports the signal as an exit code, as srun and container runtimes do.
    machine = Machine(launch=("sh", "-c", '"$@"; exit $?', "sh"), retries=1)
    result = run(tmp_path, lively, machine=machine, observer=recorder)
    assert states(result) == {"write": "ran", "count_lives": "ran"}
    why = "was killed by SIGKILL; the system may have run out of memory"
    notes = [note[1] for note in recorder.events if note[0] == "say"]
    assert notes == [f"count_lives: {why}; it is tried again in 0.05 s (1 of 1)"]
    assert result.step("count_lives").outputs["result"].read() == "hello"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'error: no such partition' >&2; echo >&2; exit 1", "sh ended with status 1: error: no such partition"),
        ("exit 0", "sh ended with status 0: no message"),
    ],
)
def test_a_program_that_fails_at_once(tmp_path, script, reason):
    root = tmp_path / "new"
    log = root / "logs" / "1" / "write.log"
    with pytest.raises(InputError) as error:
        run(root, chain("hello"), machine=shell(script))
    assert str(error.value) == f"machine.launch must start the step write, but {reason}; log: {log}"
    assert log.is_file(), "also in a root that was made for this run"
    with contextlib.closing(Store(root)) as store:
        assert store.runs()[0].state == "failed"
    assert states(run(root, chain("hello"), machine=Machine()))["shout"] == "ran"


def test_a_program_that_fails_at_first_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_SECONDS", 0.05)
    mark = tmp_path / "busy"
    script = f'test -e {mark} && exec "$@"; touch {mark}; echo busy >&2; exit 1'
    machine = Machine(launch=("sh", "-c", script, "sh"), retries=1)
    assert states(run(tmp_path / "root", toy.write(), machine=machine)) == {"write": "ran"}


def test_a_program_that_does_not_wait(tmp_path):
    trace = tmp_path / "trace"
    machine = shell(f'"$@" & while kill -0 $! && ! test -s {trace}; do sleep 0.05; done; exit 0')
    with pytest.raises(InputError, match=r"sh ended before the step; it must wait for it; log: "):
        run(tmp_path / "root", *toy.misbehaving("slow", str(trace)), machine=machine)


def test_a_program_that_is_missing_is_found_before_the_root_is_made(tmp_path):
    message = r"machine.launch must begin with a program that is installed here, got 'srum', which is not on PATH"
    with pytest.raises(InputError, match=message):
        run(tmp_path / "root", chain("hello"), machine=Machine(launch=("srum", "-n1")))
    assert list(tmp_path.iterdir()) == []


def test_other_versions_are_refused(tmp_path):
    file = tmp_path / "python"
    file.write_text(f'#!/bin/sh\nexec env PYTHONPATH={tmp_path}:{REPOSITORY} {sys.executable} "$@"\n')
    file.chmod(0o755)
    (tmp_path / "sitecustomize.py").write_text(
        "from pipeline.orchestrator import fingerprint\nfingerprint.FIRST_PARTY\n"
        "find = fingerprint.find_code\n"
        "fingerprint.find_code = lambda *a: find(*a)._replace(digest='other')\n"
    )
    machine = Machine(launch=("env",), python=str(file))
    with pytest.raises(
        InputError, match=r"versions that the launcher has, got other code of keras-bert-edge on .*python"
    ):
        run(tmp_path / "root", toy.write(), machine=machine)


@pytest.mark.parametrize("name", ["log", "lock", "arguments", "folders"])
def test_a_request_whose_paths_lead_out_of_the_root_is_refused(tmp_path, name):
    root, outside = tmp_path / "root", tmp_path / "root" / ".." / "outside"
    mailbox = Mailbox(root / ".staging" / "key-1" / ".messages")
    mailbox.folder.mkdir(parents=True)
    paths = dict.fromkeys(("log", "lock", "arguments", "folders"), root / "inside") | {name: outside}
    request = StepRequest(("m", "n"), {}, (), str(paths["log"]), str(paths["lock"]))
    arguments = {"texts": [toy.Text(paths["arguments"])]}
    mailbox.write_request(request, arguments, StepFolders(checkpoints=paths["folders"]))
    read = mailbox.read_request if name in ("log", "lock") else mailbox.read_arguments
    with pytest.raises(InputError, match=r"must lead nowhere else, got '\.\./outside'; use another root"):
        read()


@pytest.mark.parametrize(
    ("versions", "difference"),
    [({"python": "2.7"}, "Python 3.* instead of 2.7"), ({"libraries": {"keras": "1"}}, "keras None instead of 1")],
)
def test_versions_that_differ_are_named(versions, difference):
    there = {"code": "c", "libraries": {}, "python": ".".join(map(str, sys.version_info[:2])), **versions}
    request = StepRequest(("m", "n"), there, ("components",), "", "")
    with pytest.raises(InputError, match=difference):
        check_versions(toy.write, request)


class DrivenRun(SubprocessRun):
    """A run with launched steps in a process of its own, in the middle of a slow step behind a shell."""

    def __init__(self, folder):
        super().__init__(folder, "sh", "-c", '"$@"; exit $?', "sh")
        self.pids.append(psutil.Process(self.pids[0]).ppid())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_launcher_ends_the_step_and_the_program(tmp_path, number):
    driven = DrivenRun(tmp_path)
    driven.process.send_signal(number)
    assert driven.process.wait(timeout=20) == 130
    driven.assert_children_end(0.5)
    assert not (driven.root / ".staging").exists()


def test_a_step_ends_with_its_launcher_and_another_launcher_waits_for_its_end(tmp_path):
    driven = DrivenRun(tmp_path)
    driven.process.kill()
    driven.process.wait()
    assert toy.is_running(driven.pids[0]), "its beats stay away only now"
    # The next run removes the folder of the messages, and its step waits for the lock of the old process.
    again = run(driven.root, *toy.misbehaving("well"), machine=Machine(launch=("env",)))
    driven.assert_children_end(0.5)
    assert states(again) == {"write": "cached", "behave": "ran", "initial": "ran"}


def test_a_step_ends_by_itself_when_the_beats_of_its_launcher_stay_away(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "from pipeline.orchestrator import launched_process\nlaunched_process.LOST_SECONDS = 1.5\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{REPOSITORY}")
    driven = DrivenRun(tmp_path)
    driven.process.kill()
    driven.process.wait()
    driven.assert_children_end(10)


def test_a_waiting_program_is_ended_at_once(tmp_path, monkeypatch):
    class Impatient(RecordingObserver):
        def step(self, name, expected, record):
            watcher = super().step(name, expected, record)
            watcher.progress = self.stop
            return watcher

        def stop(self, done, total, note):
            assert (done, total, note) == (0.0, 0.0, "waiting for sh")
            raise KeyboardInterrupt

    monkeypatch.setattr(launched_child, "GRACE_SECONDS", 60.0)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, toy.write(), machine=shell('sleep 60; exec "$@"'), observer=Impatient())
    assert time.monotonic() - start < 5
