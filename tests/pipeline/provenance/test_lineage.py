import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from components.dsl.artifact import content_digest
from components.dsl.errors import InputError
from pipeline.provenance.lineage import find_lineage
from pipeline.views.provenance import show_lineage
from tests.pipeline.provenance.made_up import Jobs


@pytest.fixture
def jobs(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("a")
    jobs.run("b")
    return jobs


@pytest.mark.parametrize("where", ["pushed/b-2", "pushed/b-2/model.tflite", "artifacts/push/out-b", "copy.bin"])
def test_a_pushed_file_comes_from_all_that_is_behind_it(jobs, tmp_path, where):
    shutil.copy(tmp_path / "pushed" / "b-2" / "model.tflite", tmp_path / "copy.bin")
    lineage = find_lineage(jobs.store, tmp_path, tmp_path / where)
    assert lineage.artifact.path == "artifacts/push/out-b"
    steps = sorted((step.execution.node, step.execution.run) for step in lineage.steps.values())
    assert steps == [("evaluate", 2), ("model", 2), ("push", 2), ("rows", 2)]
    assert lineage.files() == {"/data/rows.csv": "f" * 64}


def test_a_file_in_a_pushed_version_comes_from_that_version(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("same")
    shutil.copytree(tmp_path / "pushed" / "same-1", tmp_path / "copy")
    jobs.run("later", model="same")
    older, newer = ((tmp_path / "pushed" / name / "model.tflite") for name in ("same-1", "later-2"))
    assert older.read_bytes() == newer.read_bytes()
    for file, name in ((older, "same"), (newer, "later"), (tmp_path / "copy" / "model.tflite", "later")):
        assert find_lineage(jobs.store, tmp_path, file).artifact.path == f"artifacts/push/out-{name}"


def test_the_origin_beside_a_file_tells_its_version(tmp_path):
    """A vocabulary stands in several versions, some of which another root may have pushed."""
    jobs, folders = Jobs(tmp_path), []
    for name in ("first", "second"):
        run = jobs.run(name, model="same")
        folder = tmp_path / "pushed" / f"{name}-{run}"
        (folder / "origin.json").write_text(f"origin of {name}")
        note = tmp_path / "artifacts" / "push" / f"out-{name}" / "pushed.json"
        content = json.loads(note.read_text())
        content["files"]["origin.json"] = content_digest(folder / "origin.json")
        note.write_text(json.dumps(content))
        folders.append(folder)
    copy, foreign = (Path(shutil.copytree(folders[0], tmp_path / name)) for name in ("copy", "foreign"))
    for file in (copy, copy / "model.tflite"):
        assert find_lineage(jobs.store, tmp_path, file).artifact.path == "artifacts/push/out-first"
    (foreign / "origin.json").write_text("origin of another root")
    with pytest.raises(InputError, match=r"^FILE must be an artifact or made in the root"):
        find_lineage(jobs.store, tmp_path, foreign / "model.tflite")


def test_a_file_of_an_artifact(jobs, tmp_path):
    lineage = find_lineage(jobs.store, tmp_path, tmp_path / "artifacts" / "model" / "out-a" / "text.txt")
    assert sorted(step.execution.node for step in lineage.steps.values()) == ["model", "rows"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.tflite", "FILE must be a file or a folder that exists, got {file}"),
        (
            "foreign.tflite",
            "FILE must be an artifact or made in the root {root}, got {file}: no pushed version or artifact holds it; "
            "`show` lists artifacts",
        ),
    ],
)
def test_a_file_of_nobody(jobs, tmp_path, name, message):
    (tmp_path / "foreign.tflite").write_text("another model")
    with pytest.raises(InputError) as error:
        find_lineage(jobs.store, tmp_path, tmp_path / name)
    assert str(error.value) == message.format(file=tmp_path / name, root=tmp_path)


def test_a_damaged_note_of_a_push_is_passed_over(jobs, tmp_path):
    (tmp_path / "artifacts" / "push" / "out-a" / "pushed.json").write_text("{")
    assert find_lineage(jobs.store, tmp_path, tmp_path / "pushed" / "b-2").artifact.path == "artifacts/push/out-b"


def test_the_tree(jobs, tmp_path):
    file = io.StringIO()
    show_lineage(find_lineage(jobs.store, tmp_path, tmp_path / "pushed" / "b-2"), Console(width=200, file=file))
    lines = [line.strip("│├└─ ").split(" (art")[0] for line in file.getvalue().splitlines()]
    kinds = [" ".join(word for word in line.split() if len(word) != 12) for line in lines]
    assert kinds == [
        "Pushed",
        "made by push in run 2",
        "evaluation: Evaluation",
        "made by evaluate in run 2",
        "model: Text",
        "made by model in run 2",
        "rows: Text",
        "made by rows in run 2",
        "source:",
        "/data/rows.csv",
        "model: Text (above)",
    ]
    assert "(above)" in file.getvalue().splitlines()[-1]
