"""A space of `[teacher]` in object storage: a version that was pushed to a root there."""

import re

import pytest

from components.dsl.artifact import list_files
from components.dsl.errors import InputError
from components.files.paths import file_digest
from components.objects.mirror import CACHE_VARIABLE
from components.objects.versions import RemoteVersions
from keras_bert.core.validation import read_json
from plugins.vectors.settings import VectorTeacher
from plugins.vectors.source import Release
from tests.components.objects.memory import ADDRESS, memory
from tests.keras_bert.recipes.test_texts import embedding
from tests.pipeline.orchestrator.stand_in_roots import StandInRoots, register_roots

__all__ = ["memory"]


@pytest.fixture(autouse=True)
def mirrors(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    register_roots(monkeypatch, StandInRoots)


def test_a_version_in_object_storage_is_the_teacher_as_it_is_on_this_machine(tmp_path):
    folder = tmp_path / "pushed/search/3"
    folder.mkdir(parents=True)
    embedding().save_settings(folder)
    (folder / "model.onnx").write_bytes(b"graph")
    digests = {name: file_digest(str(folder / name)) for name in list_files(folder)}
    RemoteVersions(f"{ADDRESS}/pushed/search").upload(folder, 3, digests, {})
    release = VectorTeacher(space=f"{ADDRESS}/pushed/search/3").release
    release.check()
    assert (release.name, release.fingerprint()) == ("search/3", Release(str(folder)).fingerprint())
    assert (release.fetch() / "model.onnx").read_bytes() == b"graph"
    with pytest.raises(
        InputError, match=f"^teacher.space must be a version .*, got {ADDRESS}/pushed/search/4, which is"
    ):
        VectorTeacher(space=f"{ADDRESS}/pushed/search/4").release.check()


def test_refuses_addresses_of_no_version():
    for address in ("hf://owner/model", f"{ADDRESS}/search/3", f"{ADDRESS}/pushed/search"):
        rule = "teacher.space must be a folder, or an address of a root with /pushed/NAME/NUMBER, as s3://"
        with pytest.raises(ValueError, match=f"{rule}.*, got {re.escape(repr(address))}"):
            read_json(VectorTeacher, {"space": address}, "teacher")
    table = VectorTeacher(space="gopher://runs/pushed/search/3")
    with pytest.raises(
        InputError, match=r"^teacher\.space: root must be a folder, or an address of a scheme that a plug"
    ):
        _ = table.release
