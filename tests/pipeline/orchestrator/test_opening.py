"""A root elsewhere is opened by the plug-in of its scheme; without one the address is refused."""

import pytest

from components.dsl.errors import InputError
from components.objects.mirror import CACHE_VARIABLE
from pipeline.orchestrator.opening import find_remote_roots, has_store, open_store
from tests.pipeline.command_line import said
from tests.pipeline.orchestrator.stand_in_roots import StandInRoots, register_roots

ADDRESS = "memory://bucket/root"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    register_roots(monkeypatch, StandInRoots)
    return find_remote_roots(ADDRESS).open_mirror(ADDRESS)


def test_the_plug_in_of_the_scheme_opens_the_store(mirror):
    assert not has_store(mirror)
    open_store(mirror).close()
    assert has_store(mirror)


def test_garbage_is_found_and_removed_by_the_plug_in(mirror, capfd):
    open_store(mirror).close()
    assert "artifacts/of/3" in said(capfd, "gc", "--root", ADDRESS, "--keep", "3", "--dry-run")
    assert not (mirror / "removed.txt").exists()
    said(capfd, "gc", "--root", ADDRESS, "--keep", "3")
    assert (mirror / "removed.txt").read_text() == "artifacts/of/3"


@pytest.mark.parametrize("address", ["ftp://bucket/x", "hf://ann/small"])
def test_an_address_without_a_plug_in_is_refused(mirror, address):
    scheme = address.partition(":")[0]
    rule = r"^root must be a folder, or an address of a scheme that a plug-in opens \(.*memory://.*\)"
    with pytest.raises(InputError, match=rf"{rule}, got {address}; ") as info:
        find_remote_roots(address)
    assert str(info.value).endswith(f"or a package with an entry point {scheme!r} in the group 'keras_bert_edge.roots'")


def test_a_mirror_whose_plug_in_is_gone_is_refused(mirror, monkeypatch):
    monkeypatch.setattr("pipeline.orchestrator.opening.find_plugins", lambda kind: {})
    for use in (open_store, has_store):
        with pytest.raises(InputError, match=r"opens \(none\), got memory://bucket/root; install the whole of"):
            use(mirror)
