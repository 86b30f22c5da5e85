"""The package of docs/guides/extend.md adds its command and its tracker as soon as it is installed."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.docs.blocks import REPOSITORY, read_blocks
from tests.pipeline.command_line import refused, said
from tests.pipeline.provenance.made_up import Jobs
from tests.tiny_job import write_job

PAGE = REPOSITORY / "docs" / "guides" / "extend.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package in a folder on Python's path, with the metadata that pip writes."""
    blocks = read_blocks(PAGE.read_text(), PAGE.name)
    (project,) = (tomllib.loads(block.code)["project"] for block in blocks if block.language == "toml")
    package, metadata = tmp_path / "site" / "house_tools", tmp_path / "site" / "house_tools-1.0.dist-info"
    package.mkdir(parents=True)
    metadata.mkdir()
    for name, block in zip(("labels", "lines"), (code for code in blocks if code.language == "python"), strict=True):
        (package / f"{name}.py").write_text(block.code)
    (package / "__init__.py").touch()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-tools\nVersion: 1.0\n")
    groups = project["entry-points"].items()
    lines = [
        line for group, entries in groups for line in (f"[{group}]", *(f"{key} = {entries[key]}" for key in entries))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path / "site")


@pytest.mark.usefixtures("installed")
def test_a_command_of_a_strangers_package(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job = write_job(tmp_path / "job")
    first, second = said(capfd, "labels", job).splitlines()[-2:]
    assert {first.split()[1], second.split()[1]} == {"sea", "farm"}
    assert "labels    Count the labels of a job's training rows." in said(capfd, "--help")
    assert "keras-bert-edge labels reviews.toml" in said(capfd, "labels", "--help")


@pytest.mark.usefixtures("installed")
def test_a_tracker_of_a_strangers_package(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run, file = Jobs(tmp_path).run("a"), tmp_path / "runs.jsonl"
    printed = said(capfd, "report", run, "--root", tmp_path, "--track", "lines", file)
    assert f"sent to {file}: line of run {run}" in printed.replace("\n", "")
    assert json.loads(file.read_text()) == {"run": run, "job": "job", "state": "done"}
    line = refused(capfd, "report", run, "--root", tmp_path, "--track", "liens", file)
    assert line.startswith("--track must be one of the trackers that are installed (")
    assert "got 'liens'" in line
