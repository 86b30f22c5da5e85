"""Artifacts move whole, are checked, and are evicted by age."""

import os
import threading
import time

import pytest

from components.dsl.artifact import MANIFEST
from components.dsl.errors import InputError
from components.objects.store import ObjectStore
from plugins.remote_roots.artifacts import (
    LIMIT_VARIABLE,
    cache_limit,
    evict,
    pull_artifact,
    upload_artifact,
)
from tests.pipeline.orchestrator.toy import Text

PLACE = "artifacts/write/text-0/1"


def make(folder, content="hello"):
    (folder / "inner").mkdir(parents=True)
    text = Text(folder)
    text.write(content)
    (folder / "inner" / "more.txt").write_text("more")
    text.seal({})
    return text


def pull(memory, tmp_path, fingerprint):
    return pull_artifact(memory, PLACE, tmp_path, tmp_path / "artifacts" / "text", ("Text", fingerprint))


def test_an_artifact_moves_whole(memory, tmp_path):
    text = make(tmp_path / "made")
    upload_artifact(memory, text.path, PLACE)
    assert pull(memory, tmp_path, text.fingerprint())
    copy = Text(tmp_path / "artifacts" / "text")
    assert copy.is_intact()
    assert copy.read_fingerprint() == text.fingerprint()
    (copy.path / "text.txt").write_text("other")
    assert pull(memory, tmp_path, text.fingerprint()), "a damaged copy is replaced"
    assert copy.read() == "hello"
    assert list((tmp_path / ".pulls").iterdir()) == []


def test_an_upload_that_was_killed_is_no_artifact(memory, tmp_path):
    text = make(tmp_path / "made")
    upload_artifact(memory, text.path, PLACE)
    memory.remove([f"{PLACE}/{MANIFEST}"])
    assert not pull(memory, tmp_path, text.fingerprint())


def test_damage_at_the_address_is_noticed(memory, tmp_path):
    text = make(tmp_path / "made")
    upload_artifact(memory, text.path, PLACE)
    memory.write(f"{PLACE}/text.txt", b"hellO")
    assert not pull(memory, tmp_path, text.fingerprint())
    assert not (tmp_path / "artifacts" / "text").exists()


def test_the_least_recently_used_go_first(tmp_path, monkeypatch):
    folders = [make(tmp_path / "artifacts" / "write" / str(number), "x" * 1000).path for number in range(4)]
    for age, folder in enumerate(folders):
        os.utime(folder, (age, age))
    monkeypatch.setenv(LIMIT_VARIABLE, "3e-6")
    assert evict(tmp_path, tmp_path / "artifacts", [folders[0]]) == [folders[1], folders[2]]
    assert folders[0].is_dir()
    assert folders[3].is_dir()
    monkeypatch.setenv(LIMIT_VARIABLE, "much")
    with pytest.raises(InputError, match="must be a number of gigabytes from 0 on, got 'much'"):
        cache_limit()


@pytest.mark.parametrize("link", ["artifacts", "artifacts/write", "artifacts/write/text"])
def test_what_lies_behind_a_link_is_neither_replaced_nor_evicted(memory, tmp_path, monkeypatch, link):
    text = make(tmp_path / "made")
    upload_artifact(memory, text.path, PLACE)
    root, folder, mine = tmp_path / "root", tmp_path / "root" / "artifacts" / "write" / "text", tmp_path / "mine"
    (mine / "write" / "text").mkdir(parents=True)
    (mine / "text").mkdir()
    for place in (mine / "write" / "text", mine / "text", mine):
        (place / "letter").write_text("hello")
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(mine)
    before = sorted(mine.rglob("*"))
    with pytest.raises(InputError, match=r"root must have no links instead of artifacts, got .*; remove the link"):
        pull_artifact(memory, PLACE, root, folder, ("Text", text.fingerprint()))
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    assert evict(root, root / "artifacts", []) == []
    assert sorted(mine.rglob("*")) == before


def test_steps_that_read_the_same_artifact_download_it_once(memory, tmp_path, monkeypatch):
    text = make(tmp_path / "made")
    upload_artifact(memory, text.path, PLACE)
    downloads = []
    download = ObjectStore.download

    def slow_download(self, name, file):
        downloads.append(name)
        time.sleep(0.02)
        download(self, name, file)

    monkeypatch.setattr(ObjectStore, "download", slow_download)
    pulled = []
    threads = [
        threading.Thread(target=lambda: pulled.append(pull(memory, tmp_path, text.fingerprint()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pulled == [True] * 4
    assert len(downloads) == len(set(downloads)) == 3
