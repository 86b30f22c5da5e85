"""Addresses in the place of paths."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.dsl.errors import InputError
from components.objects.hub import pin_address, resolve_address
from components.objects.mirror import CACHE_VARIABLE, root_address
from pipeline.commands.command import absolute_path, open_addresses, refresh_commits
from tests.components.objects.memory import ADDRESS, memory
from tests.docs.commands import parse
from tests.hub import hub
from tests.pipeline.command_line import refused
from tests.pipeline.orchestrator.stand_in_roots import StandInRoots, register_roots

__all__ = ["hub", "memory"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def open_options(*arguments):
    options = SimpleNamespace(**parse([*arguments]).params)
    open_addresses(options)
    return options


def test_a_root_becomes_its_mirror(monkeypatch):
    register_roots(monkeypatch, StandInRoots)
    root = open_options("show", "--root", ADDRESS).root
    assert root_address(root) == ADDRESS


def test_files_and_folders_are_downloaded(memory):
    memory.write("pushed/a/1/model.onnx", b"model")
    assert open_options("describe", f"{ADDRESS}/pushed/a/1/model.onnx").files[0].read_bytes() == b"model"
    assert (open_options("predict", f"{ADDRESS}/pushed/a/1", "text").model / "model.onnx").is_file()


def test_errors_name_the_address_of_a_download(memory, capfd):
    memory.write("pushed/a/1/notes.txt", b"no model")
    error = refused(capfd, "predict", f"{ADDRESS}/pushed/a/1", "text")
    assert f"{ADDRESS}/pushed/a/1" in error
    assert "cache" not in error


def test_the_newest_run_of_an_artifact(memory):
    for run in (2, 10):
        memory.write(f"artifacts/write/text-0/{run}/text.txt", str(run).encode())
    folder = open_options("predict", f"{ADDRESS}/artifacts/write/text-0", "text").model
    assert (folder / "text.txt").read_text() == "10"


def test_files_and_folders_of_the_hub_are_downloaded(hub):
    hub.add("ann/small", {"model.onnx": b"model", "task.json": b"{}"})
    assert open_options("describe", "hf://ann/small/model.onnx").files[0].read_bytes() == b"model"
    folder = open_options("predict", "hf://ann/small", "text").model
    assert sorted(file.name for file in folder.iterdir()) == ["model.onnx", "task.json"]


def test_an_address_stays_at_its_commit_until_a_refresh(hub):
    """Of a file that a command reads, and of the rows and the checkpoint of `init`; texts are no addresses."""
    repositories = [hub.add(name, {"task.json": b"old"}) for name in ("ann/small", "ann/other")]
    for expected, flag in ((b"old", ()), (b"old", ()), (b"new", ("--refresh",)), (b"new", ())):
        resolve_address.cache_clear()
        options = SimpleNamespace(**parse(["predict", "hf://ann/small", "hf://ann/none", *flag]).params)
        if options.refresh:
            refresh_commits(options)
        open_addresses(options)
        assert (options.model / "task.json").read_bytes() == expected
        for repository in repositories:
            repository.commit({"task.json": b"new"})
    first = pin_address("hf://ann/other")
    second = repositories[1].commit({"task.json": b"newer"})
    refresh_commits(SimpleNamespace(**parse(["init", "rows.csv", "--checkpoint", "hf://ann/other"]).params))
    assert first != pin_address("hf://ann/other") == f"hf://ann/other@{second}"


CONFIG = {"model_type": "bert", "hidden_size": 8}
REFUSED = {
    "none": (None, {}, "hf://ann/none must be a repository that exists and is open to you, the hub says 401"),
    "private": ({}, {"needs": "hf_other"}, "hf://ann/private must be a repository that exists and is open to you"),
    "gated": ({"model.safetensors": ""}, {"needs": "hf_other", "gated": True}, "hf://ann/gated@.* is gated: ask for "),
    "onnx": ({"onnx/model.onnx": "x"}, {}, "hf://ann/onnx@.* must hold weights in .*, got onnx/model.onnx"),
    "code": (
        {"model.safetensors": "", "config.json": {"model_type": "mine", "auto_map": {"AutoModel": "code.Mine"}}},
        {},
        r"model_type must be a family of .*, got 'mine'.*; code of its own, auto_map .*code\.Mine.*, is never run",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_checkpoints_of_the_hub_that_cannot_be_used_are_one_line(hub, tmp_path, capfd, name):
    files, settings, message = REFUSED[name]
    if files is not None:
        texts = {"config.json": CONFIG, "vocab.txt": "[PAD]", **files}
        contents = {file: text if isinstance(text, str) else json.dumps(text) for file, text in texts.items()}
        hub.add(f"ann/{name}", {file: text.encode() for file, text in contents.items()}, **settings)
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "".join(f"text {row},{'ab'[row % 2]}\n" for row in range(40)))
    job = tmp_path / "job.toml"
    job.write_text(f"checkpoint.path = 'hf://ann/{name}'\nexamples.train = 'rows.csv'\n")
    for arguments in (["init", rows, "--checkpoint", f"hf://ann/{name}"], ["run", job, "--root", tmp_path / "runs"]):
        assert re.search(message, refused(capfd, *arguments))
    assert not {"model.safetensors", "code.py"} & set(hub.downloads())


def test_texts_stay_as_they_are():
    assert open_options("predict", "model", "see s3://bucket/x", "s3://bucket/y").texts[1] == "s3://bucket/y"
    assert absolute_path("model") == Path.cwd() / "model"


def test_outputs_and_unknown_schemes_are_refused():
    with pytest.raises(InputError, match=r"--out must be a file on this machine, got s3://bucket/page.html"):
        open_options("report", "--out", "s3://bucket/page.html")
    with pytest.raises(InputError, match=r"root must be a folder, or an address of a scheme .*, got ftp://bucket/x"):
        open_options("show", "--root", "ftp://bucket/x")
