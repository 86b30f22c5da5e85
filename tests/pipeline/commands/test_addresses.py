"""Addresses in the place of paths."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from components.dsl.errors import InputError
from components.objects.mirror import CACHE_VARIABLE, root_address
from components.objects.store import ObjectStore
from pipeline.commands.command import absolute_path, open_addresses
from tests.docs.commands import parse
from tests.hub import Hub, hub
from tests.pipeline.command_line import refused
from tests.pipeline.remote.conftest import ADDRESS, memory

__all__ = ["hub", "memory"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def open_options(*arguments: str) -> SimpleNamespace:
    options = SimpleNamespace(**parse([*arguments]).params)
    open_addresses(options)
    return options


def test_a_root_becomes_its_mirror(memory: ObjectStore) -> None:
    root = open_options("show", "--root", ADDRESS).root
    assert root_address(root) == ADDRESS
    assert open_options("show", "--root", f"{ADDRESS}/").root == root


def test_files_and_folders_are_downloaded(memory: ObjectStore) -> None:
    memory.write("pushed/a/1/model.onnx", b"model")
    assert open_options("describe", f"{ADDRESS}/pushed/a/1/model.onnx").files[0].read_bytes() == b"model"
    assert (open_options("predict", f"{ADDRESS}/pushed/a/1", "text").model / "model.onnx").is_file()


def test_errors_name_the_address_of_a_download(memory: ObjectStore, capfd: pytest.CaptureFixture[str]) -> None:
    memory.write("pushed/a/1/notes.txt", b"no model")
    error = refused(capfd, "predict", f"{ADDRESS}/pushed/a/1", "text")
    assert f"{ADDRESS}/pushed/a/1" in error
    assert "cache" not in error


def test_the_newest_run_of_an_artifact(memory: ObjectStore) -> None:
    for run in (2, 10):
        memory.write(f"artifacts/write/text-0/{run}/text.txt", str(run).encode())
    folder = open_options("predict", f"{ADDRESS}/artifacts/write/text-0", "text").model
    assert (folder / "text.txt").read_text() == "10"


def test_files_and_folders_of_the_hub_are_downloaded(hub: Hub) -> None:
    hub.add("ann/small", {"model.onnx": b"model", "task.json": b"{}"})
    assert open_options("describe", "hf://ann/small/model.onnx").files[0].read_bytes() == b"model"
    folder = open_options("predict", "hf://ann/small", "text").model
    assert sorted(file.name for file in folder.iterdir()) == ["model.onnx", "task.json"]
    with pytest.raises(InputError, match=r"must begin with s3:// or gs://.*, got hf://ann/small"):
        open_options("show", "--root", "hf://ann/small")


def test_texts_stay_as_they_are() -> None:
    assert open_options("predict", "model", "see s3://bucket/x", "s3://bucket/y").texts[1] == "s3://bucket/y"
    assert absolute_path("model") == Path.cwd() / "model"


def test_outputs_and_unknown_schemes_are_refused() -> None:
    with pytest.raises(InputError, match=r"--out must be a file on this machine, got s3://bucket/page.html"):
        open_options("report", "--out", "s3://bucket/page.html")
    with pytest.raises(InputError, match=r"must begin with s3:// or gs://.*, got ftp://bucket/x"):
        open_options("show", "--root", "ftp://bucket/x")
