"""Files and folders come into the cache once, and again when their content has changed."""

import pytest

from components.dsl.errors import InputError
from components.objects.downloads import local_file, local_folder
from components.objects.mirror import (
    CACHE_VARIABLE,
    REMOTE_FILE,
    address_of,
    cache_folder,
    display_path,
    show_addresses,
)
from components.objects.store import ObjectStore
from components.sources.text import TextSource
from tests.components.objects.memory import ADDRESS, memory

__all__ = ["memory"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def test_a_file_is_downloaded_once_and_again_after_a_change(memory):
    memory.write("rows.tsv", b"one")
    first = local_file(f"{ADDRESS}/rows.tsv")
    stamp = first.stat().st_ino
    assert (first.name, first.read_bytes()) == ("rows.tsv", b"one")
    assert local_file(f"{ADDRESS}/rows.tsv").stat().st_ino == stamp
    memory.write("rows.tsv", b"other")
    assert local_file(f"{ADDRESS}/rows.tsv").read_bytes() == b"other"
    assert not list(cache_folder().rglob(".*"))


def test_a_corpus_is_as_large_as_its_copies_unpacked(memory):
    for name in ("a.txt", "b.jsonl.gz", "c.parquet"):
        memory.write(name, b"1234567")
    source = TextSource(ADDRESS)
    assert list(map(source.size, source.files())) == [7, 21, 21]


def test_a_folder_keeps_its_name_and_the_files_that_are_read(memory):
    for name in ("model/config.json", "model/inner/vocab.txt", "model/large.bin"):
        memory.write(name, name.encode())
    folder = local_folder(f"{ADDRESS}/model", lambda names: [name for name in names if not name.endswith(".bin")])
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    assert (folder.name, files) == ("model", ["config.json", "inner/vocab.txt"])


def test_downloads_are_shown_by_their_addresses(memory, tmp_path):
    memory.write("team/model/config.json", b"{}")
    file, folder = local_file(f"{ADDRESS}/team/model/config.json"), local_folder(f"{ADDRESS}/team/model/")
    assert display_path(file) == f"{ADDRESS}/team/model/config.json"
    assert display_path(folder / "vocab.txt") == f"{ADDRESS}/team/model/vocab.txt"
    assert show_addresses(f"{folder} must hold x, got {file}") == (
        f"{ADDRESS}/team/model must hold x, got {ADDRESS}/team/model/config.json"
    )
    assert show_addresses(str(tmp_path / "file")) == str(tmp_path / "file")


def test_what_is_missing_is_said_in_one_line(memory):
    with pytest.raises(InputError, match="the file memory://bucket/root/none must exist, found nothing there"):
        local_file(f"{ADDRESS}/none")
    with pytest.raises(InputError, match="none must be a folder that exists, found nothing there"):
        local_folder(f"{ADDRESS}/none")
    with pytest.raises(InputError, match="must name a bucket"):
        ObjectStore("s3://")


def test_paths_in_a_mirror_stand_for_addresses(tmp_path):
    (tmp_path / REMOTE_FILE).write_text('{"address": "s3://bucket/team"}')
    assert address_of(tmp_path / "pushed" / "a" / "1") == "s3://bucket/team/pushed/a/1"
    assert display_path(tmp_path.parent) == str(tmp_path.parent)
