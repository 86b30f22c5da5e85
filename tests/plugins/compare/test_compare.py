"""Two variants through the command line: one budget, one task, two seeds, one table, and all of it once."""

import contextlib
import json

import pytest

import keras_bert
from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.tiny_job import write_job

BASE = """
max_length = 16
[corpus]
path = "texts"
[vocabulary]
size = 110
[encoder]
num_layers = 1
hidden_size = 16
num_heads = 2
intermediate_size = 16
[pretraining_rows]
objective = "none"
[pretraining]
batch_size = 8
xla = "off"
precision = "float32"
validations = 2
"""
WIDE = "extends = 'base.toml'\n[encoder]\nintermediate_size = 64\n"
TOPIC = """
[examples]
train = "rows.tsv"
[fine_tuning]
steps = 6
xla = "off"
precision = "float32"
validations = 1
"""
BUDGET = 1.5e8


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared") / "job"
    write_job(folder, rows=60)
    for name, text in (("base", BASE), ("wide", WIDE), ("topic", TOPIC)):
        (folder / f"{name}.toml").write_text(text)
    return folder


def compare(job, *more):
    files = [str(job / f"{name}.toml") for name in ("base", "wide")]
    common = ["--flops", str(BUDGET), "--task", str(job / "topic.toml"), "--root", str(job / "root")]
    return main(["compare", *files, *common, "--seeds", "2", "--name", "mine", *more])


def content(job):
    return json.loads((job / "root" / "compared" / "mine" / "comparison.json").read_text())


def ran(job):
    """The pipelines of the last four runs, oldest first, each with the steps that were not cached."""
    with contextlib.closing(Store(job / "root", create=False)) as store:
        runs = store.runs()[3::-1]
        return [
            (run.pipeline, {execution.node for execution in store.executions(run.id) if execution.state == "ran"})
            for run in runs
        ]


@pytest.mark.long
def test_variants_under_one_budget_and_a_second_run_is_cached(job, capsys):
    assert compare(job) == 0
    lines = capsys.readouterr().out.splitlines()
    first = content(job)
    for record in first["variants"].values():
        spent = record["pretraining"]
        assert BUDGET - spent["flops"] / spent["steps"] < spent["flops"] <= BUDGET
        assert [entry["step"] for entry in spent["curve"]] == [round(spent["steps"] / 2), spent["steps"]]
        assert spent["unlike"] == []
        assert len(record["tasks"]["topic"]["seeds"]) == 2
        assert keras_bert.load(record["tasks"]["topic"]["models"][1]).name == "classification"
    base, wide = first["variants"].values()
    assert base["pretraining"]["steps"] > wide["pretraining"]["steps"]
    assert base["parameters"] < wide["parameters"]
    difference = wide["tasks"]["topic"]["mean"] - base["tasks"]["topic"]["mean"]
    assert wide["tasks"]["topic"]["difference"]["mean"] == pytest.approx(difference)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert [row[0] for row in rows] == ["base", "wide", ""]
    assert rows[1][2:4] == [f"{wide['pretraining']['steps']:,}", f"{wide['pretraining']['flops']:.2e}"]
    assert rows[2][-1].startswith(f"{100 * difference:+.2f}")
    files = sorted(file.name for file in (job / "root" / "compared" / "mine").iterdir())
    assert files == ["comparison.json", "comparison.md", "loss_over_compute.png", "loss_over_compute.svg"]
    shared = {"ingest_corpus", "read_examples-topic", "build_vocabulary", "mask_examples", "ingest_examples-topic"}
    executed = {"pretrain", "fine_tune-topic-0", "fine_tune-topic-1", "evaluate-topic"}
    assert ran(job) == [
        ("mine/base", {*shared, "measure_step"}),
        ("mine/wide", {"measure_step"}),
        ("mine/base", executed),
        ("mine/wide", executed),
    ]

    assert compare(job) == 0
    assert [steps for _, steps in ran(job)] == [set()] * 4
    assert content(job) == first
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")] == [
        line for line in lines if line.startswith("│")
    ]


@pytest.mark.long
def test_what_one_variant_cannot_do_shows_before_any_training(job, capfd):
    # That this corpus has not so many pieces shows when they are learnt.
    (job / "wide.toml").write_text("extends = 'base.toml'\n[vocabulary]\nsize = 5000\n")
    assert compare(job, "--set", "pretraining.learning_rate=1e-3") == 2
    printed = capfd.readouterr()
    assert printed.err.splitlines()[-1].startswith("error: wide.toml: vocabulary.size must be at most ")
    assert "pretrain" not in printed.out
