"""Names of objects may become paths of this machine; folders' markers and other objects do not matter."""

import pytest

from components.dsl.errors import InputError
from components.objects.downloads import local_file, local_folder
from components.objects.mirror import CACHE_VARIABLE
from components.objects.store import ObjectStore, number_of
from components.objects.versions import RemoteVersions
from tests.components.objects.memory import ADDRESS, memory, put_raw

__all__ = ["memory"]

BAD_NAMES = ("../../outside", "inner/../../outside", "/outside", "inner//outside", "./outside", "inner\\outside")
RULE = "must have a name without empty parts, '.', '..' and backslashes"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_lead_out_of_a_folder_are_refused(memory, tmp_path, monkeypatch, name):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    memory.write("model/config.json", b"{}")
    put_raw(f"model/{name}", b"door")
    with pytest.raises(InputError, match=RULE):
        local_folder(f"{ADDRESS}/model")
    with pytest.raises(InputError, match=RULE):
        memory.match("model/**")
    for act in (memory.state, memory.read, memory.below, memory.find_all):
        with pytest.raises(InputError, match=RULE):
            act(f"model/{name}")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_version_writes_nothing_outside_of_its_folder(memory, tmp_path, name):
    put_raw(f"pushed/1/{name}", b"door")
    with pytest.raises(InputError, match=RULE):
        RemoteVersions(f"{ADDRESS}/pushed").download(1, tmp_path / "pushed" / "1")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_an_address_that_leads_out_of_its_folder_is_refused():
    for address in ("s3://bucket/..", "s3://bucket/texts/../../other", "s3://bucket//texts"):
        with pytest.raises(InputError, match=RULE):
            ObjectStore(address)
    with pytest.raises(InputError, match=RULE):
        local_file(f"{ADDRESS}/..")


def test_markers_of_folders_are_no_objects(memory):
    for name in ("", "texts/", "texts/empty/"):
        put_raw(name, b"")
    memory.write("texts/a.txt", b"a")
    assert [*memory.find_all()] == ["texts/a.txt"]
    assert [*memory.find_all("texts")] == ["texts/a.txt"]
    assert memory.match("**") == ["texts/a.txt"]
    assert memory.match("*") == []
    put_raw("texts/full/", b"content")
    with pytest.raises(InputError, match=RULE):
        memory.find_all()


def test_numbers_are_those_of_names_and_nothing_else(memory):
    for name in ("3/start.json", "00000012.json", "readme.txt", "7.txt", "notes/1.json", "\u0664"):
        memory.write(name, b"")
    assert memory.numbers() == [3, 12]
    assert [*map(number_of, ("log/00000003.json", "3/", "\u00b2"))] == [3, None, None]
