"""When steps begin, and which; on toy components."""

import time

import pytest

from components.dsl.errors import InputError
from pipeline.machine import Machine
from pipeline.orchestrator import scheduler
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator import toy
from tests.pipeline.orchestrator.test_runner import RecordingObserver, chain, states


def run(root, *outputs, **options):
    return run_pipeline(Pipeline("toy", outputs), root, preload=(), **options)


def test_to_a_step_runs_no_further(tmp_path):
    assert states(run(tmp_path, chain("hello"), request=Request(to="initial"))) == {"write": "ran", "initial": "ran"}


def test_a_forced_step_runs_and_the_same_bytes_cut_the_rerun_off(tmp_path):
    first = run(tmp_path, chain("hello"))
    again = run(tmp_path, chain("hello"), request=Request(force=("initial",)))
    assert states(again) == {"write": "cached", "initial": "ran", "shout": "cached"}
    assert again.step("shout").outputs["loud"].path == first.step("shout").outputs["loud"].path


def test_from_a_step_all_that_follow_run_again(tmp_path):
    run(tmp_path, chain("hello"))
    again = run(tmp_path, chain("hello"), request=Request(since="initial"))
    assert states(again) == {"write": "cached", "initial": "ran", "shout": "ran"}


def test_from_a_step_needs_those_before_it(tmp_path):
    run(tmp_path, chain("hello"))
    with pytest.raises(InputError) as error:
        run(tmp_path, chain("other"), request=Request(since="initial"))
    assert str(error.value) == "--from needs the steps before it done, but write is not: without --from, it runs first"


def test_a_step_that_was_killed_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_SECONDS", 0.05)
    recorder = RecordingObserver()
    lively = toy.count_lives(text=toy.write().output(toy.Text), lives=3)
    result = run(tmp_path, lively, machine=Machine(retries=2), observer=recorder)
    assert states(result) == {"write": "ran", "count_lives": "ran"}
    why = "was killed by SIGKILL; the system may have run out of memory"
    assert [note[1] for note in recorder.events if note[0] == "say"] == [
        f"count_lives: {why}; it is tried again in 0.05 s (1 of 2)",
        f"count_lives: {why}; it is tried again in 0.1 s (2 of 2)",
    ]
    logs, tries = tmp_path / "logs" / "1", ["count_lives.1", "count_lives.2", "count_lives"]
    assert [(logs / name / "note").read_text() for name in tries] == ["life 1", "life 2", "life 3"]
    assert {log.name for log in logs.glob("*.log")} == {"write.log", *(f"{name}.log" for name in tries)}
    assert [item.state for item in Store(tmp_path).executions(1)] == ["ran", "failed", "failed", "ran"]


def test_a_step_that_is_killed_too_often_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_SECONDS", 0.05)
    lively = toy.count_lives(text=toy.write().output(toy.Text), lives=3)
    result = run(tmp_path, lively, machine=Machine(retries=1))
    assert states(result) == {"write": "ran", "count_lives": "failed"}
    assert result.message.startswith("Step count_lives failed: was killed by SIGKILL")


@pytest.mark.parametrize("how", ["crash", "exit", "input_error", "refusal", "disk_full"])
def test_what_would_break_again_is_not_tried_again(tmp_path, how):
    recorder = RecordingObserver()
    try:
        result = run(tmp_path, *toy.misbehaving(how), machine=Machine(retries=3), observer=recorder)
    except InputError:
        assert how in ("input_error", "disk_full")
    else:
        assert states(result)["behave"] in ("failed", "refused")
    assert [note for note in recorder.events if note[0] in ("step", "say")] == [
        ("step", "write", False),
        ("step", "behave", False),
    ]


def test_a_refusal_keeps_only_those_steps_from_running_that_read_from_it(tmp_path):
    refused = toy.misbehaving("refusal")
    (behaving,) = (handle.node for handle in sources_of(refused[0]))
    further = toy.shout(text=refused[0].output(toy.Text))
    (text,) = sources_of(behaving)
    chain = text
    for number in range(3):
        node = toy.shout(text=chain)
        node.name = f"shout_{number}"
        chain = node.output(toy.Text)
    result = run(tmp_path, further, chain.node)
    skipped = dict.fromkeys(("initial", "shout"), "skipped")
    ran = dict.fromkeys(("write", "shout_0", "shout_1", "shout_2"), "ran")
    assert states(result) == {"behave": "refused", **skipped, **ran}
    assert (result.state, result.message) == ("refused", "not good enough")


def couple(folder, seconds, kind=toy.meet):
    """Two steps that do not need one another, each waiting for the other."""
    text = toy.write().output(toy.Text)
    pair = []
    for me, other in ("ab", "ba"):
        node = kind(text=text, me=me, other=other, folder=str(folder), seconds=seconds)
        node.name = f"meet_{me}"
        pair.append(node)
    return pair


def met(result):
    return [step.outputs["result"].read() for step in result.steps[1:]]


def test_steps_run_side_by_side_once_it_is_known_what_they_take(tmp_path):
    root = tmp_path / "root"
    alone = run(root, *couple(tmp_path, 0.2))
    assert met(alone) == ["False", "False"]
    everything = Request(force=("meet_a", "meet_b"))
    began = time.monotonic()
    beside = run(root, *couple(tmp_path, 20.0), request=everything, machine=Machine(cores=100.0))
    assert met(beside) == ["True", "True"]
    assert time.monotonic() - began < 15
    full = Machine(cores=100.0, memory_gigabytes=1e-6)
    assert met(run(root, *couple(tmp_path, 0.2), request=everything, machine=full)) == ["False", "False"]
    assert met(run(root, *couple(tmp_path, 0.2), request=everything)) == ["False", "False"]


def test_a_step_that_measures_time_runs_alone(tmp_path):
    root = tmp_path / "root"
    for _ in range(2):
        result = run(
            root,
            *couple(tmp_path, 0.2, toy.meet_alone),
            request=Request(force=("meet_a", "meet_b")),
            machine=Machine(cores=100.0),
        )
        assert met(result) == ["False", "False"]


def test_what_runs_beside_a_step_that_breaks_comes_to_its_end(tmp_path):
    root, text = tmp_path / "root", toy.write().output(toy.Text)
    slow = toy.meet(text=text, me="a", other="nobody", folder=str(tmp_path), seconds=1.0)
    run(root, slow, toy.behave(text=text))
    broken = toy.behave(text=text, how="crash")
    after = toy.shout(text=slow.output(toy.Text))
    request = Request(force=("meet", "behave"))
    result = run(root, slow, broken, after, request=request, machine=Machine(cores=100.0))
    assert states(result) == {"write": "cached", "meet": "ran", "behave": "failed", "shout": "skipped"}
    assert result.state == "failed"


def test_bad_input_ends_what_runs_beside_it(tmp_path):
    root, text = tmp_path / "root", toy.write().output(toy.Text)
    slow = toy.meet(text=text, me="a", other="nobody", folder=str(tmp_path), seconds=0.1)
    run(root, slow, toy.behave(text=text))
    slow = toy.meet(text=text, me="a", other="nobody", folder=str(tmp_path), seconds=60.0)
    began = time.monotonic()
    with pytest.raises(InputError, match=r"behave\.how"):
        run(
            root,
            slow,
            toy.behave(text=text, how="input_error"),
            request=Request(force=("meet", "behave")),
            machine=Machine(cores=100.0),
        )
    assert time.monotonic() - began < 20
