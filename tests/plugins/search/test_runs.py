"""The time of a search: each step once, without those that it shares with a run."""

import functools

import pytest

from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, run_pipeline
from plugins.search.runs import SearchRuns
from tests.pipeline.orchestrator import toy
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load


def initial(value):
    return toy.initial(text=toy.write(value=value).output(toy.Text))


@pytest.fixture
def runs(tmp_path, monkeypatch):
    # Toy steps need no libraries.
    monkeypatch.setattr("plugins.search.runs.run_pipeline", functools.partial(run_pipeline, preload=()))
    return SearchRuns(load(tmp_path, CHECKPOINT + EXAMPLES), tmp_path / "root", "", Observer())


def test_a_step_counts_once_and_its_cost_is_known_by_its_place(runs):
    first = runs.run(Pipeline("toy", [initial("hello")]))
    worked = {step.name: step.worked for step in first.steps}
    assert runs.spent == pytest.approx(sum(worked.values()))
    runs.run(Pipeline("toy", [initial("hello")]), is_whole=True)
    assert runs.spent == pytest.approx(sum(worked.values())), "all of it is cached"
    costs = runs.costs(first, ["initial"])
    assert list(costs.values()) == [worked["initial"]]
    assert all(place.startswith("artifacts/initial/") for place in costs)
    runs.count({**costs, "of an earlier process": 2.0})
    assert runs.spent == pytest.approx(sum(worked.values()) + 2.0)


def test_steps_that_are_left_out_never_count(runs):
    runs.exclude(Pipeline("toy", [toy.write(value="hello")]))
    assert runs.spent == 0.0
    result = runs.run(Pipeline("toy", [initial("other")]))
    assert runs.spent == result.step("initial").worked


def test_a_step_that_fails_ends_the_search(runs):
    with pytest.raises(RunFailedError, match=r"^Step behave failed"):
        runs.run(Pipeline("toy", toy.misbehaving("crash")))
    assert runs.start(Pipeline("toy", toy.misbehaving("refusal"))).state == "refused"
