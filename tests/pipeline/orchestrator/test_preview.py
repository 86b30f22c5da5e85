import contextlib

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root_store import DATABASE
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator import toy
from tests.pipeline.orchestrator.test_runner import chain


def preview_chain(root, value="hello", mark="!", request=None):
    return preview(Pipeline("toy", [chain(value, mark)]), root, request or Request())


def run(root, value="hello", mark="!"):
    run_pipeline(Pipeline("toy", [chain(value, mark)]), root, preload=())


def short(previews):
    return [(step.step, step.state) for step in previews]


def test_a_root_that_is_not_there_is_not_made(tmp_path):
    previews = preview_chain(tmp_path / "root")
    assert short(previews) == [("write", "runs"), ("initial", "runs"), ("shout", "runs")]
    assert {step.why for step in previews} == {"nothing ran in this root yet"}
    assert not (tmp_path / "root").exists()


def test_preview_tells_done_and_changed_steps(tmp_path):
    run(tmp_path)
    assert short(preview_chain(tmp_path)) == [("write", "done"), ("initial", "done"), ("shout", "done")]
    (change,) = preview_chain(tmp_path, mark="?")[-1].changes
    assert change == ("setting", "mark", "!", "?")
    first, second, third = preview_chain(tmp_path, value="howdy")
    assert (first.state, first.changes) == ("runs", (("setting", "value", "hello", "howdy"),))
    assert second[:3] == ("initial", "follows", "after write")
    assert third[:3] == ("shout", "follows", "after initial")


def test_another_job_gives_neither_times_nor_reasons(tmp_path):
    run(tmp_path)
    other = Pipeline("other", [chain("howdy")])
    first, *_ = preview(other, tmp_path, Request())
    assert (first.why, first.changes, first.expected) == ("it never ran for this job", (), None)
    run_pipeline(Pipeline("other/ladder", [chain("before")]), tmp_path, preload=())
    first, *_ = preview(other, tmp_path, Request())
    assert first.changes == (("setting", "value", "before", "howdy"),)
    assert first.expected is not None


def test_nothing_runs_and_nothing_is_recorded(tmp_path):
    run(tmp_path)
    before = (tmp_path / DATABASE).read_bytes()
    preview_chain(tmp_path, value="howdy")
    assert (tmp_path / DATABASE).read_bytes() == before
    assert len(Store(tmp_path).runs()) == 1


def test_it_says_what_a_run_then_does(tmp_path):
    run(tmp_path)
    request = Request(since="initial")
    assert short(preview_chain(tmp_path, request=request)) == [
        ("write", "done"),
        ("initial", "runs"),
        ("shout", "follows"),
    ]
    assert preview_chain(tmp_path, request=request)[1].why == "requested by --force or --from"
    assert short(preview_chain(tmp_path, request=Request(to="initial"))) == [("write", "done"), ("initial", "done")]


def test_preview_refuses_like_a_run(tmp_path):
    run(tmp_path)
    with pytest.raises(InputError, match="--from needs the steps before it done, but write is not"):
        preview_chain(tmp_path, value="other", request=Request(since="initial"))


def test_other_reasons(tmp_path):
    def of(how):
        return [step.why for step in preview(Pipeline("toy", toy.misbehaving(how)), tmp_path, Request())]

    run_pipeline(Pipeline("toy", toy.misbehaving("crash")), tmp_path, preload=())
    assert of("crash") == ["", "it failed the last time", "after behave"]
    (text,) = (tmp_path / "artifacts" / "write").glob("text-*/text.txt")
    text.unlink()
    assert of("crash")[0] == "made before, but text was changed or removed on disk"
    never = preview(Pipeline("other", toy.misbehaving("crash")), tmp_path, Request())
    assert [step.why for step in never][1:] == ["after write", "after behave"]


def test_a_step_that_another_pipeline_ran_is_compared_with_that(tmp_path):
    run(tmp_path)
    first, *_ = preview(Pipeline("toy/search", [chain("howdy", "!")]), tmp_path, Request())
    assert first.changes == (("setting", "value", "hello", "howdy"),)


def test_steps_that_are_not_done_have_the_duration_of_the_last_execution(tmp_path):
    assert {step.expected for step in preview_chain(tmp_path)} == {None}
    run(tmp_path)
    assert {step.expected for step in preview_chain(tmp_path)} == {None}, "all are done"
    with contextlib.closing(Store(tmp_path)) as store:
        seconds = {past.node: past.seconds for past in store.executions(1)}
    previews = preview_chain(tmp_path, value="howdy")
    assert [step.expected for step in previews] == [seconds[step.step] for step in previews]
