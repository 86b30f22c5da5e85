"""A version counts once its marker is there; a later run is compared with the newest one that is not its own."""

import concurrent.futures
import hashlib
import json
import threading
from pathlib import Path

import pytest

from components.objects.mirror import REMOTE_FILE
from components.objects.versions import MARKER, RemoteVersions
from components.sources.pushed_version import PreviousVersion, PushedVersion, version_exists
from tests.components.objects.memory import ADDRESS, memory

__all__ = ["memory"]

FOLDER = f"{ADDRESS}/pushed/model"


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / REMOTE_FILE).write_text(json.dumps({"address": ADDRESS}))
    return tmp_path


def push(folder, content, digests=None):
    folder.mkdir(exist_ok=True)
    (folder / "model.bin").write_text(content)
    (folder / "README.md").write_text("card")
    versions, digests = RemoteVersions(FOLDER), digests or {"model.bin": content}
    number = versions.claim(digests)
    versions.upload(folder, number, digests, {"edge_model": content})
    return number


def test_the_newest_version_of_another_model_is_found_without_a_download(mirror, memory):
    assert [push(mirror / "staging", content) for content in ("one", "two", "two")] == [1, 2, 2]
    previous = PreviousVersion(str(mirror / "pushed" / "model"))
    assert previous.look_up({"edges[0]": "two"}) == PushedVersion(str(mirror / "pushed" / "model" / "1"))
    newest = previous.look_up({"edges[0]": "three"})
    assert newest is not None
    assert newest.name == "model/2"
    assert not (mirror / "pushed").exists()
    assert (newest.fetch() / "model.bin").read_text() == "two"
    assert version_exists(Path(newest.path))


def test_threads_that_download_one_version_do_not_disturb_each_other(mirror, memory):
    """Each removed the folder that the other had made, and the rename of one of them failed."""
    content = "x" * 100_000
    digests = {"model.bin": hashlib.sha256(content.encode()).hexdigest()}
    push(mirror / "staging", content, digests)
    folder, barrier = mirror / "pushed/model/1", threading.Barrier(4)
    folder.mkdir(parents=True)
    (folder / "model.bin").write_text("older")

    def fetch(_):
        barrier.wait()
        for _ in range(20):
            assert (PushedVersion(str(folder)).fetch() / "model.bin").read_text() == content
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fetch, range(4))) == [True] * 4
    assert [entry.name for entry in folder.parent.iterdir()] == ["1"]
    made = folder.stat().st_ino
    PushedVersion(str(folder)).fetch()
    assert folder.stat().st_ino == made, "the version is there already"
    (folder / "model.bin").write_text("damaged")
    assert (PushedVersion(str(folder)).fetch() / "model.bin").read_text() == content


def test_a_version_without_its_marker_does_not_count(mirror, memory):
    push(mirror / "staging", "one")
    push(mirror / "staging", "two")
    memory.remove([f"pushed/model/2/{MARKER}"])
    assert RemoteVersions(FOLDER).numbers() == [1]
    assert not version_exists(mirror / "pushed" / "model" / "2")
    assert push(mirror / "staging", "two") == 2, "the same files go on with their number"


def test_a_version_that_lost_a_file_is_not_whole(mirror, memory):
    push(mirror / "staging", "one")
    assert RemoteVersions(FOLDER).holds(1, {"model.bin": "one"})
    memory.remove(["pushed/model/1/model.bin"])
    assert not RemoteVersions(FOLDER).holds(1, {"model.bin": "one"})
