"""The whole pipeline on tiny jobs, through the command line, each step in its own process."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.core.plugins import find_plugins
from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.components import tuning_job
from tests.hub import hub_variables, serve_hub
from tests.pipeline.report.html_pages import check_complete
from tests.processes import running, wait_for
from tests.tiny_job import without, write_job

STEPS = (
    "ingest_corpus read_examples build_vocabulary mask_examples ingest_examples pretrain fine_tune distill quantize "
    "export_model evaluate push"
).split()
TAGS = """
name = "tags"
max_length = 16
seeds = 2
[checkpoint]
path = "model"
[examples]
train = "sentences.conll"
task = "token_classification"
[fine_tuning]
steps = 60
batch_size = 8
learning_rate = 1e-2
xla = "off"
precision = "float32"
[quantization]
steps = 12
batch_size = 8
learning_rate = 1e-3
xla = "off"
precision = "float32"
[export]
runtimes = ["tflite"]
[evaluation]
max_export_loss = 20.0
below_baseline = "warn"
"""
WARMER = ("--set", "distillation.temperature=3.0")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a job that has run."""
    folder = tmp_path_factory.mktemp("tiny")
    write_job(folder)
    assert run(folder) == 0
    return folder


@pytest.fixture(scope="module")
def jobs(tiny, tmp_path_factory):
    """`tiny`, and the same job `again` in a root of its own, with a score that no model reaches."""
    again = tmp_path_factory.mktemp("again")
    write_job(again)
    assert run(again, "--set", "evaluation.min_score=100") == 3
    return {"tiny": tiny, "again": again}


@pytest.fixture(scope="module")
def tags(tmp_path_factory):
    """A job from a checkpoint of our own that has run without a student, so that the teacher itself is quantized."""
    folder = tmp_path_factory.mktemp("tags")
    tuning_job.write_checkpoint(folder)
    tuning_job.write_rows(folder, "token_classification")
    (folder / "tiny.toml").write_text(TAGS)
    assert run(folder) == 0
    return folder


@pytest.fixture(scope="module")
def changed(jobs, tmp_path_factory):
    """Copies of the tiny job after its run that ran on with changes.

    They are a `warmer` distillation; and `float` files on one more row, without a student and quantization.
    """
    place = tmp_path_factory.mktemp("changed")
    folders = {name: Path(shutil.copytree(jobs["tiny"], place / name)) for name in ("warmer", "float")}
    rows = folders["float"] / "rows.tsv"
    rows.write_text(rows.read_text() + "the sail was torn\tsea\n")
    (folders["float"] / "tiny.toml").write_text(without("student", "distillation", "quantization"))
    assert [run(folders["warmer"], *WARMER), run(folders["float"])] == [0, 0]
    return folders


def run(folder, *more):
    """The exit status of the job of a folder."""
    return main(["run", str(folder / "tiny.toml"), "--root", str(folder / "root"), *more])


def executions(folder):
    """The steps of the newest run."""
    with contextlib.closing(Store(folder / "root", create=False)) as store:
        return store.executions(store.runs()[0].id)


def states(folder):
    """Step -> how it ended, in the newest run."""
    return {step.node: step.state for step in executions(folder)}


def ran(folder):
    """The steps of the newest run that were not found done."""
    return [step for step, state in states(folder).items() if state != "cached"]


def manifest(artifact):
    return json.loads((artifact / "manifest.json").read_text())


def pushed(folder, version=1):
    """The folder of a version, whatever the job is called."""
    (name,) = (folder / "root" / "pushed").iterdir()
    return name / str(version)


def metrics(folder, version=1):
    return json.loads((pushed(folder, version) / "metrics.json").read_text())


def mean(row, metric):
    return float(row["metrics"][metric]["mean"])


def test_every_step_runs_and_the_models_learn(tiny):
    assert list(states(tiny).items()) == [(step, "ran") for step in STEPS]
    measured = metrics(tiny)
    models = measured["models"]
    baselines, trained = ["majority class", "bag of n-grams", "frozen encoder"], ["teacher", "student"]
    files = ["tflite float32", "tflite int8", "onnx float32"]
    assert list(models) == [*baselines, *find_plugins("baselines"), *trained, *files]
    for name in (*trained, "tflite int8", "onnx float32"):
        assert mean(models[name], "accuracy") > mean(models["majority class"], "accuracy") + 0.2
        assert models[name]["milliseconds"] > 0
    assert models["tflite int8"]["megabytes"] < models["tflite float32"]["megabytes"]
    assert measured["shipped"] == "tflite int8"
    assert np.sum(measured["confusion"]) == measured["rows"]["test"] == 24


def test_the_pushed_folder_is_complete(tiny):
    version = pushed(tiny)
    names = (
        "model.tflite model.onnx vocab.txt tokenizer.json task.json labels.json metrics.json export.json origin.json "
        "schema.json golden.json self_test.json characters.txt tokenizers index.html README.md"
    )
    assert {file.name for file in version.iterdir()} == set(names.split())
    assert json.loads((version / "labels.json").read_text()) == ["farm", "sea"]
    assert "| tflite int8 |" in (version / "README.md").read_text()


def predict(version, capfd, *texts):
    """The cells of what is printed; nothing but answers is."""
    capfd.readouterr()
    assert main(["predict", str(version), *texts]) == 0
    printed = capfd.readouterr()
    assert printed.err == ""
    return [line.split("\t") for line in printed.out.splitlines()]


def test_predict_answers_from_the_pushed_file(tiny, capfd):
    texts = ["the ship stood near the harbour", "a cow is worth more than a fence"]
    lines = predict(pushed(tiny), capfd, *texts)
    assert [(label, text) for label, _, text in lines] == [("sea", texts[0]), ("farm", texts[1])]
    assert all(0.5 < float(score) <= 1 for _, score, _ in lines)


def test_show_shows_runs_and_artifacts(tiny, capsys):
    assert main(["show", "--root", str(tiny / "root")]) == 0
    printed = capsys.readouterr().out
    assert "tiny" in printed
    assert "EdgeModel" in printed


@pytest.mark.long
def test_an_undisturbed_second_root_gets_the_same_models(jobs):
    for kind in ("corpus", "vocabulary", "examples", "model", "student", "quantized", "edge"):
        ours, theirs = (
            {path.parent.name: manifest(path) for path in (jobs[name] / "root" / "artifacts").glob(f"*/{kind}-*")}
            for name in ("tiny", "again")
        )
        assert ours
        for step, digest in ours.items():
            assert digest["fingerprint"] == theirs[step]["fingerprint"], f"{kind} of {step} differs"


@pytest.mark.long
def test_a_model_that_is_not_good_enough_is_not_pushed_and_its_report_says_so(jobs):
    assert list(states(jobs["again"]).items()) == [*((step, "ran") for step in STEPS[:-1]), ("push", "refused")]
    assert "it was not blessed: tflite int8 accuracy" in executions(jobs["again"])[-1].message
    assert not (jobs["again"] / "root" / "pushed").exists()
    check_report(jobs["again"], ["not pushed, because it was not blessed", "Not blessed", "refused"])


def test_a_run_leaves_a_report(tiny):
    check_report(tiny, ["farm", "tflite int8, 24 test rows", "Calibration of tflite int8", "Rows as the model sees"])


@pytest.mark.long
def test_a_run_of_two_seeds_leaves_a_report(tags):
    check_report(tags, ["over 2 seeds", "fine_tune-1", "quantize-0", "animal", "seed 1"])


def check_report(folder, texts):
    page = check_complete((folder / "root" / "reports" / "1.html").read_text())
    sections = {attributes["id"] for tag, attributes in page.elements if tag == "section"}
    assert sections == {"steps", "data", "trainings", "scores", "origins"}
    for text in (*texts, *states(folder)):
        assert text in page.text


def test_in_a_moved_root_all_is_done(tiny, tmp_path, capfd):
    folder = Path(shutil.copytree(tiny, tmp_path / "moved"))
    assert run(folder) == 0
    assert ran(folder) == []
    assert f"pushed: {pushed(folder)}" in capfd.readouterr().out
    assert [version.name for version in pushed(folder).parent.iterdir()] == ["1"]


@pytest.mark.long
def test_what_follows_a_change_runs_again(changed):
    folder = changed["warmer"]
    assert ran(folder) == STEPS[STEPS.index("distill") :]
    assert "pushed before" in metrics(folder, 2)["models"], "the new version was compared with the one before"

    assert run(folder, *WARMER) == 0
    assert ran(folder) == [], "a repeated run meets the same predecessor"


@pytest.mark.long
def test_a_second_root_is_compared_with_the_newest_version_of_a_shared_folder(jobs, changed, tmp_path):
    folder = Path(shutil.copytree(jobs["again"], tmp_path / "second"))
    shared = Path(shutil.copytree(pushed(changed["warmer"]).parent, tmp_path / "shared"))
    assert run(folder, "--set", f"push.folder={shared}", "--set", "evaluation.max_regression=100") == 0
    assert ran(folder) == ["evaluate", "push"]
    assert "pushed before" in json.loads((shared / "3" / "metrics.json").read_text())["models"]


@pytest.mark.long
def test_without_a_student_and_quantization_float_files_are_pushed(changed, capfd):
    folder = changed["float"]
    assert ran(folder) == ["read_examples", "ingest_examples", "fine_tune", "export_model", "evaluate", "push"]
    measured = metrics(folder, 2)
    assert list(measured["models"])[2:] == [
        "frozen encoder",
        *find_plugins("baselines"),
        "teacher",
        "tflite float32",
        "onnx float32",
        "pushed before",
    ]
    assert measured["shipped"] == "tflite float32"
    names = {file.name for file in pushed(folder, 2).iterdir()}
    assert {"model_float32.tflite", "model.onnx"} <= names
    assert "model.tflite" not in names
    assert [label for label, _, _ in predict(pushed(folder, 2), capfd, "the old ship", "the cow")] == ["sea", "farm"]


def test_pre_training_alone_ends_with_a_model(tiny, tmp_path, capsys):
    folder = Path(shutil.copytree(tiny, tmp_path / "moved"))
    later = ("examples", "fine_tuning", "student", "distillation", "quantization", "evaluation")
    (folder / "tiny.toml").write_text(without(*later))
    assert run(folder) == 0
    assert states(folder) == dict.fromkeys(("ingest_corpus", "build_vocabulary", "mask_examples", "pretrain"), "cached")
    (model,) = (folder / "root" / "artifacts" / "pretrain").glob("model-*")
    lines = [f"pre-trained: {model}", f"report: {folder / 'root' / 'reports' / '2.html'}"]
    assert capsys.readouterr().out.splitlines()[-2:] == lines


@pytest.mark.long
def test_two_seeds_of_tags_from_a_checkpoint_without_a_student(tags, capfd):
    of_seeds = [f"{step}-{seed}" for step in ("fine_tune", "quantize", "export_model") for seed in (0, 1)]
    steps = states(tags)
    assert set(steps) == {"import_checkpoint", "read_examples", "ingest_examples", *of_seeds, "evaluate", "push"}
    assert set(steps.values()) == {"ran"}
    measured = metrics(tags)
    for name in ("teacher", "tflite float32", "tflite int8"):
        scores = measured["models"][name]["metrics"]["f1"]
        assert len(scores["seeds"]) == 2
        assert scores["mean"] > 0.5
    chosen = measured["validation"]["f1"]["seeds"]
    assert measured["kept"] == chosen.index(max(chosen))
    origin = json.loads((pushed(tags) / "origin.json").read_text())
    (edge,) = (tags / "root" / "artifacts" / f"export_model-{measured['kept']}").glob("edge-*")
    assert origin["edge_model"] == manifest(edge)["fingerprint"]

    lines = predict(pushed(tags), capfd, "the cow near one oak", "the old elm")
    assert [(label, place, text) for label, _, place, text in lines] == [
        ("animal", "4:7", "cow"),
        ("(no entity)", "", "the old elm"),
    ]
    assert 1 / 3 < float(lines[0][1]) <= 1


@pytest.mark.long
def test_a_checkpoint_of_the_hub_becomes_a_file_though_its_download_was_killed_twice(tmp_path):
    """As a new user meets it: rows, an address, `init` and `run`, each a process of its own."""
    fillers = itertools.product(tuning_job.OTHERS, repeat=3)
    kinds = (("animal", tuning_job.ANIMALS), ("plant", tuning_job.PLANTS))
    rows = [f"{' '.join(words)} {kinds[row % 2][1][row % 4]},{kinds[row % 2][0]}" for row, words in enumerate(fillers)]
    (tmp_path / "rows.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    tuning_job.write_checkpoint(tmp_path, num_layers=2)
    keras_bert.to_hugging_face(keras_bert.load(tmp_path / "model"), tmp_path / "checkpoint")
    with serve_hub() as hub:
        hub.add("ann/small", tmp_path / "checkpoint")
        hub.cuts = [-1000, -2000]
        variables = {**os.environ, **hub_variables(hub, tmp_path / "hub")}
        given = {"env": variables, "cwd": tmp_path}
        program = [sys.executable, "-m", "keras_bert_edge"]
        init = [*program, "init", "rows.csv", "--checkpoint", "hf://ann/small", "--out", "job.toml"]
        for killed in (1, 2):
            with running(init, **given) as process:
                wait_for(lambda count=killed: sum("/large/" in path for _, path, _ in hub.requests) == count, process)
                process.kill()
        assert not (tmp_path / "job.toml").exists()
        subprocess.run(init, check=True, **given)
        # Weights so few and random need larger steps than those of a checkpoint.
        overrides = [f"--set={table}.learning_rate=0.01" for table in ("fine_tuning", "distillation")]
        overrides.append("--set=fine_tuning.start_head=random")
        subprocess.run([*program, "run", "job.toml", *overrides], check=True, **given)
    (version,) = (tmp_path / "runs" / "pushed").glob("*/1")
    answers = keras_bert.load(version).predict(["the old cow near one", "one oak near the old"])
    assert [answer.label for answer in answers] == ["animal", "plant"]
