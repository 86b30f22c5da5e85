"""The package of docs/guides/extend.md adds its command and its tracker as soon as it is installed."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from tests.docs.blocks import REPOSITORY, read_blocks
from tests.pipeline.command_line import refused, said
from tests.pipeline.provenance.made_up import Jobs
from tests.tiny_job import write_job

MODULES = ("stars", "star_rows", "no_positions", "no_positions_graph", "android", "labels", "lines")
PAGE = REPOSITORY / "docs" / "guides" / "extend.md"


@pytest.fixture
def site(tmp_path):
    """A folder for Python's path with the package, and with the metadata that pip writes."""
    blocks = read_blocks(PAGE.read_text(), PAGE.name)
    (project,) = (tomllib.loads(block.code)["project"] for block in blocks if block.language == "toml")
    package, metadata = tmp_path / "site" / "house_tools", tmp_path / "site" / "house_tools-1.0.dist-info"
    package.mkdir(parents=True)
    metadata.mkdir()
    codes = (code for code in blocks if code.language == "python")
    for name, block in zip(MODULES, codes, strict=True):
        (package / f"{name}.py").write_text(block.code)
    (package / "__init__.py").touch()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-tools\nVersion: 1.0\n")
    groups = project["entry-points"].items()
    lines = [
        line for group, entries in groups for line in (f"[{group}]", *(f"{key} = {entries[key]}" for key in entries))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path / "site"


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)


class Program:
    """The program and Python in processes of their own, with the package installed: registries are read once."""

    def __init__(self, site, folder):
        paths = filter(None, (str(site), str(REPOSITORY), os.environ.get("PYTHONPATH")))
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "KERAS_BACKEND": "tensorflow"}
        self._folder = folder

    def __call__(self, *arguments):
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, cwd=self._folder, env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout


@pytest.mark.usefixtures("installed")
def test_a_command_of_a_strangers_package(tmp_path, capfd):
    job = write_job(tmp_path / "job")
    first, second = said(capfd, "labels", job).splitlines()[-2:]
    assert {first.split()[1], second.split()[1]} == {"sea", "farm"}
    assert "labels    Count the labels of a job's training rows." in said(capfd, "--help")
    assert "keras-bert-edge labels reviews.toml" in said(capfd, "labels", "--help")


@pytest.mark.usefixtures("installed")
def test_a_tracker_of_a_strangers_package(tmp_path, capfd):
    run, file = Jobs(tmp_path).run("a"), tmp_path / "runs.jsonl"
    printed = said(capfd, "report", run, "--root", tmp_path, "--track", "lines", file)
    assert f"sent to {file}: line of run {run}" in printed.replace("\n", "")
    assert json.loads(file.read_text()) == {"run": run, "job": "job", "state": "done"}
    line = refused(capfd, "report", run, "--root", tmp_path, "--track", "liens", file)
    assert line.startswith("--track must be one of the trackers that are installed (")
    assert "got 'liens'" in line


def test_a_job_of_a_strangers_task(site, tmp_path):
    job = write_star_job(tmp_path / "job")
    code = (
        "from pathlib import Path\nfrom pipeline.cli import main\nfrom pipeline.job.files import load_settings\n"
        "from components.examples.registry import TASK_ROWS\n"
        f"source = load_settings(Path({str(job)!r})).examples\n"
        "print(type(source).__name__, TASK_ROWS[source.task].labels(source, source.splits()['train']))\n"
        "main(['schema', '--out', 'schema.json'])\nmain(['init', '--help'])"
    )
    source, _, usage = Program(site, tmp_path)("-c", code).partition("\n")
    assert source == "StarSource ['1', '2', '3']"
    schema = json.loads((tmp_path / "schema.json").read_text())
    assert schema["$defs"]["StarSource"]["properties"]["task"]["const"] == "stars"
    assert "stars" in usage


@pytest.mark.long
def test_a_strangers_task_goes_through_every_command(site, tmp_path):
    job, program = write_star_job(tmp_path / "job"), Program(site, tmp_path)
    program("-m", "pipeline", "run", job, "--root", "runs")
    version = tmp_path / "runs" / "pushed" / "stars" / "1"
    assert "BERT that gives stars to texts" in (version / "README.md").read_text()
    metrics = json.loads((version / "metrics.json").read_text())
    assert {"accuracy", "within_one"} <= metrics["models"]["teacher"]["metrics"].keys()
    text = "the ship stood near the sail until the tide came back ."
    answers = {program("-m", "pipeline", "predict", file, text) for file in version.glob("model*.*")}
    assert len({answer.split()[0] for answer in answers}) == 1
    assert answers.pop().split()[0] in ("1", "2", "3")
    code = f"import keras_bert; print(keras_bert.load({str(version)!r}).name)"
    assert program("-c", code).strip() == "stars"
    program("-m", "pipeline", "report", "--root", "runs", "--out", "page.html")
    assert "within one" in (tmp_path / "page.html").read_text()
    assert (version / "android" / "assets" / "labels.txt").read_text().split() == ["1", "2", "3"]
    saved = next((tmp_path / "runs" / "artifacts" / "distill").iterdir())
    variant = "keras_bert.models.encoder.config_of(keras_bert.load(path).model).variant"
    code = f"import keras_bert, keras_bert.models.encoder; path = {str(saved)!r}; print(type({variant}).__name__)"
    assert program("-c", code).strip() == "NoPositions"
    (teacher,) = (tmp_path / "runs" / "artifacts" / "fine_tune").iterdir()
    drafted = ("init", tmp_path / "job" / "rows.tsv", "--task", "stars", "--checkpoint", teacher)
    program("-m", "pipeline", *drafted, "--out", "drafted.toml")
    assert 'task = "stars"' in (tmp_path / "drafted.toml").read_text()


def write_star_job(folder):
    """The tiny job with the task, the family and the target of the package; labels are three of a review's stars."""
    job, rows = write_job(folder), folder / "rows.tsv"
    head, *lines = rows.read_text().splitlines()
    stars = {"sea": "1", "farm": "3"}
    cells = [line.split("\t") for line in lines]
    texts = [f"{text}\t{'2' if row % 5 == 0 else stars[label]}" for row, (text, label) in enumerate(cells)]
    rows.write_text("\n".join([head, *texts, ""]))
    job.write_text(
        job.read_text()
        .replace('name = "tiny"', 'name = "stars"')
        .replace("[examples]", '[examples]\ntask = "stars"')
        .replace("[encoder]", '[encoder]\nvariant = { kind = "no_positions" }')
        + '[export]\nruntimes = ["tflite", "onnx", "android"]\n'
    )
    return job
