"""Which runs are behind a comparison, and what is told of them."""

import json
from pathlib import Path

import pytest

from components.artifacts.evaluation import Evaluation
from components.artifacts.standard import Model
from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunFailedError, RunResult, StepResult
from plugins.compare.artifacts import StepCost
from plugins.compare.budget import Budget
from plugins.compare.runs import prepare, train
from plugins.compare.variants import ComparedVariant
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load

HISTORY = [
    {"step": 50, "masked_loss": 4.0},
    {"step": 100, "masked_loss": 3.5, "validation_next_sentence_loss": 0.7, "validation_masked_loss": 3.25},
    {"step": 200, "masked_loss": 3.0, "validation_next_sentence_loss": 0.6, "validation_masked_loss": 3.0},
]


class Runs:
    """Stands in for the orchestrator: each step has what it would have made."""

    def __init__(self, folder):
        self.folder, self.seen, self.broken, self.history = folder, list[Pipeline](), "", HISTORY

    def __call__(self, pipeline, root, *, observer, **_):
        self.seen.append(pipeline)
        steps = [self._step(node.name) for node in pipeline.nodes]
        return RunResult(1, root, "failed" if any(step.message for step in steps) else "done", tuple(steps))

    def _step(self, name):
        kind = name.partition("-")[0]
        content = {
            "measure_step": ("cost", StepCost, "cost.json", json.dumps(COST)),
            "pretrain": ("model", Model, "history.jsonl", "".join(json.dumps(entry) + "\n" for entry in self.history)),
            "import_checkpoint": ("model", Model, "x", ""),
            "fine_tune": ("model", Model, "x", ""),
            "evaluate": ("evaluation", Evaluation, "metrics.json", json.dumps(METRICS)),
        }
        if name == self.broken:
            return StepResult(name, "failed", 1.0, {}, f"Step {name} failed: so it is")
        if kind not in content:
            return StepResult(name, "ran", 1.0, {})
        output, made, file, text = content[kind]
        artifact = made(self.folder / f"{len(self.seen)}-{name}")
        artifact.path.mkdir()
        artifact.file(file).write_text(text)
        artifact.counts = {"parameters": 1234}
        artifact.seal({})
        return StepResult(name, "cached", 0.0, {output: artifact}, worked=60.0)


COST = {"lengths": [{"length": 64, "flops": 1000, "seconds": 0.3}], "bytes_an_entry": 4.0}
SPREAD = {"mean": 0.8, "sd": 0.1, "seeds": [0.7, 0.9]}
METRICS = {
    "task": "classification",
    "metric": "accuracy",
    "shipped": "teacher",
    "models": {"teacher": {"metrics": {"accuracy": SPREAD}}},
    "validation": {"accuracy": SPREAD},
    "rows": {"test": 24},
    "kept": 1,
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    actual_runs = Runs(tmp_path)
    monkeypatch.setattr("plugins.compare.runs.run_pipeline", actual_runs)
    return actual_runs


def variants(folder, *names):
    settings = load(folder, CORPUS + EXAMPLES, "seeds=2", "name=mine")
    return [ComparedVariant(name, settings, {"sst2": settings}) for name in names]


def compare(folder, given, budget):
    return list(train(prepare(given, budget, folder, Observer()), folder, Observer()))


def test_all_that_is_cheap_comes_first_and_the_budget_becomes_steps(tmp_path, runs):
    compare(tmp_path, variants(tmp_path, "base", "other"), Budget("flops", 200_999))
    assert [pipeline.name for pipeline in runs.seen] == ["mine/base", "mine/other"] * 2
    last = [{node.name: node for node in pipeline.nodes} for pipeline in runs.seen]
    assert ["measure_step" in nodes for nodes in last] == [True, True, False, False]
    assert [nodes["pretrain"].values["training"].steps for nodes in last[2:]] == [200, 200]
    assert not last[0]["measure_step"].values["timed"]


def test_minutes_are_timed_before(tmp_path, runs):
    compare(tmp_path, variants(tmp_path, "base"), Budget("seconds", 31.0))
    first, second = ({node.name: node for node in pipeline.nodes} for pipeline in runs.seen)
    assert first["measure_step"].values["timed"]
    assert second["pretrain"].values["training"].steps == 103


def test_record_of_a_variant(tmp_path, runs):
    ((name, record),) = compare(tmp_path, variants(tmp_path, "base"), None)
    assert (name, record["parameters"]) == ("base", 1234)
    assert record["pretraining"] == {
        "steps": 200,
        "flops": 200_000,
        "seconds": 60.0,
        "loss": "masked_loss",
        "bytes_an_entry": 4.0,
        "curve": [
            {"step": 100, "flops": 100_000, "seconds": 30.0, "loss": 3.25},
            {"step": 200, "flops": 200_000, "seconds": 60.0, "loss": 3.0},
        ],
    }
    models = record["tasks"]["sst2"].pop("models")
    assert [Path(model).name for model in models] == ["2-fine_tune-sst2-0", "2-fine_tune-sst2-1"]
    expected = {"metric": "accuracy", "rows": 24, **SPREAD, "validation": SPREAD, "kept": 1}
    assert record["tasks"]["sst2"] == expected


def test_of_another_objective_the_first_loss_is_told(tmp_path, runs):
    runs.history = [{"step": 9, "validation_accuracy": 0.5, "validation_replaced_loss": 0.4, "validation_b_loss": 0.1}]
    ((_, record),) = compare(tmp_path, variants(tmp_path, "base"), None)
    assert record["pretraining"]["loss"] == "replaced_loss"
    assert record["pretraining"]["curve"] == [{"step": 9, "flops": 9000, "seconds": 60.0, "loss": 0.4}]


def test_a_checkpoint_is_compared_by_its_tasks(tmp_path, runs):
    settings = load(tmp_path, CHECKPOINT + EXAMPLES)
    ((_, record),) = compare(tmp_path, [ComparedVariant("start", settings, {"sst2": settings})], None)
    assert "pretraining" not in record
    assert (record["parameters"], record["tasks"]["sst2"]["mean"]) == (1234, 0.8)
    assert [Path(model).name for model in record["tasks"]["sst2"]["models"]] == ["2-fine_tune-sst2"]


def test_what_one_variant_cannot_do_names_it_and_comes_after_the_finished_ones(tmp_path, runs):
    ready = prepare(variants(tmp_path, "base", "other"), None, tmp_path, Observer())
    records = train(ready, tmp_path, Observer())
    assert next(records)[0] == "base"
    runs.broken = "fine_tune-sst2-1"
    with pytest.raises(RunFailedError, match=r"^other\.toml: Step fine_tune-sst2-1 failed: so it is$"):
        next(records)


def test_a_budget_that_is_too_small_for_one_of_them_shows_before_any_training(tmp_path, runs):
    with pytest.raises(InputError, match=r"^base\.toml: --flops must be enough for a step, 1e\+03, got 999$"):
        prepare(variants(tmp_path, "base", "other"), Budget("flops", 999), tmp_path, Observer())
    assert len(runs.seen) == 1
