import contextlib
import importlib.metadata
import io

import pytest
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.orchestrator import launcher
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.records import Execution
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from pipeline.provenance.why import find_reason
from pipeline.views.provenance import show_reason
from tests.pipeline.orchestrator import toy
from tests.pipeline.orchestrator.test_runner import chain


@pytest.fixture
def store(tmp_path):
    with contextlib.closing(Store(tmp_path)) as store:
        yield store


def run(root, value="hello", mark="!"):
    run_pipeline(Pipeline("toy", [chain(value, mark)]), root, preload=())


def text_of(reason):
    file = io.StringIO()
    show_reason(reason, Console(width=200, file=file))
    return file.getvalue()


def test_the_first_time(store, tmp_path):
    run(tmp_path)
    reason = find_reason(store, "shout")
    assert reason.before is None
    assert text_of(reason) == "shout, run 1: ran; it never ran before\n"


def test_nothing_has_changed(store, tmp_path):
    run(tmp_path)
    run(tmp_path)
    assert text_of(find_reason(store, "shout")) == "shout, run 2: cached; nothing has changed since run 1\n"


def test_of_a_step_that_was_tried_again_the_last_try_is_explained(store):
    run = store.start_run("toy")
    store.record(Execution(run, "shout", "shout", "key", "failed", 1.0), {})
    store.record(Execution(run, "shout", "shout", "key", "ran", 1.0), {})
    assert text_of(find_reason(store, "shout")) == "shout, run 1: ran; it never ran before\n"


def test_a_changed_setting(store, tmp_path):
    run(tmp_path)
    run(tmp_path, mark="?")
    reason = find_reason(store, "shout")
    assert reason.changes == (("setting", "mark", "!", "?"),)
    assert find_reason(store, "shout", run=1).before is None
    assert "setting mark: '!' -> '?'" in text_of(reason)


def test_a_change_further_up(store, tmp_path):
    run(tmp_path)
    run(tmp_path, value="all")
    run(tmp_path, value="other")
    reason = find_reason(store, "shout")
    (change,) = reason.changes
    assert (change.kind, change.name) == ("input", "text")
    above = reason.causes["text"].causes["text"]
    assert (above.execution.node, above.changes) == ("write", (("setting", "value", "all", "other"),))
    assert [line.strip("│├└─ ") for line in text_of(reason).splitlines()] == [
        "shout, run 3: ran; since run 2, 1 part of its cache key changed",
        "input text: other content, of initial, run 3: ran; since run 2, 1 part of its cache key changed",
        "input text: other content, of write, run 3: ran; since run 2, 1 part of its cache key changed",
        "setting value: 'all' -> 'other'",
    ]


def test_a_change_that_was_taken_back_is_explained_though_nothing_ran(store, tmp_path):
    for value in ("hello", "other", "hello"):
        run(tmp_path, value)
    reason = find_reason(store, "initial")
    assert reason.execution.state == "cached"
    assert reason.causes["text"].changes == (("setting", "value", "other", "hello"),)


def test_a_changed_file_of_the_users(tmp_path):
    mine = tmp_path / "mine.txt"
    for text in ("one", "another"):
        mine.write_text(text)
        run_pipeline(Pipeline("toy", [toy.load(source=toy.File(str(mine)))]), tmp_path / "root", preload=())
    with contextlib.closing(Store(tmp_path / "root")) as store:
        (change,) = find_reason(store, "load").changes
    assert (change.kind, change.name) == ("file", str(mine))


def test_a_changed_library(store, tmp_path, monkeypatch):
    monkeypatch.setattr(toy.write, "libraries", ("pytest",))
    run(tmp_path)
    monkeypatch.setattr("pipeline.orchestrator.fingerprint._library_version", lambda *_: "1.0")
    run(tmp_path)
    installed = importlib.metadata.version("pytest")
    assert find_reason(store, "write").changes == (("library", "pytest", installed, "1.0"),)


def test_a_changed_line_of_code(store, tmp_path, monkeypatch):
    run(tmp_path)
    original = launcher.find_code

    def edited(component, *_):
        code = original(component)
        return code._replace(digest="other", modules={**code.modules, toy.__name__: "edited"})

    monkeypatch.setattr(launcher, "find_code", edited)
    run(tmp_path)
    (change,) = find_reason(store, "write").changes
    assert (change.kind, change.name, change.new) == ("module", toy.__name__, "edited")


def test_a_step_that_failed(store, tmp_path):
    first = toy.write(value="a")
    run_pipeline(Pipeline("toy", [toy.behave(text=first.output(toy.Text))]), tmp_path, preload=())
    second = toy.write(value="b")
    run_pipeline(Pipeline("toy", [toy.behave(text=second.output(toy.Text), how="crash")]), tmp_path, preload=())
    reason = find_reason(store, "behave")
    assert reason.execution.state == "failed"
    assert reason.causes["text"].changes == (("setting", "value", "a", "b"),)


@pytest.mark.parametrize(
    ("step", "number", "message"),
    [
        ("shot", None, "STEP must be a step of a run, got 'shot'; did you mean 'shout'?"),
        ("shout", 7, "--run must be a number that show lists, 1 to 1, got 7"),
    ],
)
def test_what_is_not_there(store, tmp_path, step, number, message):
    run(tmp_path)
    with pytest.raises(InputError) as error:
        find_reason(store, step, number)
    assert str(error.value) == message
