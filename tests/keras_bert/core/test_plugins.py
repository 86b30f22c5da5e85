import importlib
import sys

import pytest

from keras_bert.core.plugins import find_plugins, load_plugin


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A package of a stranger as pip installs it, with a plug-in."""
    (tmp_path / "stranger.py").write_text("def send(): return 'sent'\n")
    metadata = tmp_path / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[keras_bert_edge.trackers]\nhome = stranger:send\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("stranger")
def test_a_package_of_a_stranger_has_a_plug_in():
    assert load_plugin("trackers", "home", "--track")() == "sent"


def test_a_plug_in_that_is_missing_is_named_with_the_way_out(stranger):
    with pytest.raises(
        ValueError,
        match=r"^--track must be one of the trackers that are installed \(.*home.*\), got 'house'; install a package "
        r"with an entry point of this name in the group 'keras_bert_edge\.trackers'$",
    ):
        load_plugin("trackers", "house", "--track")
    with pytest.raises(ValueError, match=r"^--to must be one of the houses that are installed \(none\), got 'home'"):
        load_plugin("houses", "home", "--to")
    (stranger / "stranger.py").unlink()
    sys.modules.pop("stranger", None)
    importlib.invalidate_caches()
    assert "home" not in find_plugins("trackers")
