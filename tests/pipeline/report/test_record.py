"""What is known of a run: its steps, who made what, and what it did not reach."""

import shutil
from typing import cast

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.records import Execution, Run
from pipeline.orchestrator.store import Store
from pipeline.report.record import RunRecord, RunStep, read_end, read_record
from tests.pipeline.report.made_up import Root, node

MAKES = {"out": "Text"}


def test_a_cached_step_is_told_with_the_run_that_made_it(tmp_path):
    root = Root(tmp_path)
    root.run(node("load", makes=MAKES, key="k"))
    root.run(node("load-0", state="cached", key="k"), node("train", "load-0", makes=MAKES))
    record = read_record(tmp_path)
    first, second = record.steps
    assert record.run.id == 2
    assert (first.done.state, first.made and (first.made.run, first.made.node)) == ("cached", (1, "load"))
    assert first.outputs == second.inputs.__class__({"out": second.inputs["load-0.out"]})
    assert record.log(first) == tmp_path / "logs" / "1" / "load.log"
    assert record.trained(first) == tmp_path / "logs" / "1" / "load"
    assert [(step.name, folder) for step, folder in record.outputs("Text")] == [
        ("load-0", tmp_path / "artifacts/load/out-1"),
        ("train", tmp_path / "artifacts/train/out-2"),
    ]


def test_a_step_that_a_later_run_forced_is_told_with_its_own_execution(tmp_path):
    root = Root(tmp_path)
    for state in ("ran", "cached", "ran"):
        root.run(node("load", state=state, makes=MAKES))
    makers = [step.made and step.made.run for run in (1, 2, 3) for step in read_record(tmp_path, run).steps]
    assert makers == [1, 1, 3]


def test_of_a_step_that_was_tried_again_the_last_try_counts(tmp_path):
    root = Root(tmp_path)
    root.run(
        node("load", makes=MAKES),
        node("train", "load", state="failed", message="was killed by SIGKILL"),
        node("check", "load", makes=MAKES),
        node("train", "load", makes=MAKES),
        node("push", "train", makes=MAKES),
    )
    steps = read_record(tmp_path).steps
    assert [(step.name, step.done.state) for step in steps] == [
        *(("load", "ran"), ("train", "ran"), ("check", "ran"), ("push", "ran")),
    ]


def test_artifacts_that_are_gone_are_left_out(tmp_path):
    root = Root(tmp_path)
    root.run(node("load", makes=MAKES))
    shutil.rmtree(root.folder("load", "out"))
    assert list(read_record(tmp_path).outputs("Text")) == []


def test_steps_that_a_run_did_not_reach_are_those_of_its_plan(tmp_path):
    root = Root(tmp_path)
    plan = {"load": [], "train": ["load"], "push": ["train"]}
    load = node("load", makes=MAKES)
    run = root.run(load, node("train", state="failed", message="no"), state="failed", plan=plan)
    record = read_record(tmp_path, run)
    assert record.missed == {"push": ["train"]}
    assert record.steps[1].made is None
    root.run(load, node("train", "load", makes=MAKES), node("push", "train", makes=MAKES), plan=plan)
    assert read_record(tmp_path).missed == {}


def test_of_a_run_without_a_plan_nothing_is_missed(tmp_path):
    root = Root(tmp_path)
    run = root.run(node("load", state="failed", message="no"), state="failed")
    assert read_record(tmp_path, run).missed == {}


def test_a_root_that_is_none(tmp_path):
    with pytest.raises(InputError, match=r"--root must be a folder that exists, got .*missing"):
        read_record(tmp_path / "missing")
    with pytest.raises(InputError, match="root must be a folder that a run has written to"):
        read_record(tmp_path)
    Store(tmp_path).close()
    with pytest.raises(InputError, match="it knows no run"):
        read_record(tmp_path)


def test_a_log_lies_in_the_root_whatever_its_metadata_says(tmp_path):
    record = RunRecord(tmp_path, Run(1, "job", "done", 0.0, 1.0), ())
    for run, name in ((1, "../../secret"), ("/etc", "secret")):
        execution = Execution(cast(int, run), name, "component", "key", "ran", 1.0)
        with pytest.raises(InputError, match=r"must lead nowhere else, got '.*secret\.log'; use another root"):
            record.log(RunStep(execution, None, {}, {}))


def test_of_a_log_the_end_is_read(tmp_path):
    (tmp_path / "a.log").write_bytes(b"\xff begin\n" + b"\n".join(f"line {n}".encode() for n in range(100)))
    assert read_end(tmp_path / "a.log").splitlines() == [f"line {n}" for n in range(70, 100)]
    assert read_end(tmp_path / "none.log") == ""
