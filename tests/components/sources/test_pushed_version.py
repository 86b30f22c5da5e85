import json
from pathlib import Path

from components.sources.pushed_version import PreviousVersion, PushedVersion, list_versions


def write_version(folder, number, edge, **files):
    version = folder / str(number)
    version.mkdir(parents=True)
    for name, content in {"origin.json": json.dumps({"edge_model": edge}), **files}.items():
        (version / name).write_text(content)
    return PushedVersion(str(version))


def test_versions_are_counted(tmp_path):
    assert list_versions(tmp_path / "none") == []
    for name in ("10", "9", "notes", ".staging-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "11").write_text("a file")
    assert list_versions(tmp_path) == [9, 10]


def test_the_newest_version_that_was_not_made_of_these_files(tmp_path):
    previous = PreviousVersion(str(tmp_path))
    inputs = {"examples": "first", "edges[0]": "second", "edges[1]": "third"}
    assert previous.look_up(inputs) is None
    first = write_version(tmp_path, 1, "first")
    write_version(tmp_path, 2, "second")
    write_version(tmp_path, 10, "third")
    assert previous.look_up(inputs) == first
    from_another_root = write_version(tmp_path, 11, "other")
    assert previous.look_up(inputs) == from_another_root


def test_a_version_that_does_not_say_what_it_was_made_of_is_another_one(tmp_path):
    version = write_version(tmp_path, 1, "mine")
    for content in ("{", "[]", "{}"):
        Path(version.path, "origin.json").write_text(content)
        assert PreviousVersion(str(tmp_path)).look_up({"edges[0]": "mine"}) == version


def test_a_version_counts_by_its_content(tmp_path):
    one = write_version(tmp_path / "here" / "reviews", 1, "a", **{"model.tflite": "x", "README.md": "card"})
    other = write_version(tmp_path / "there" / "reviews", 1, "a", **{"model.tflite": "x", "README.md": "edited"})
    assert one.fingerprint() == other.fingerprint()
    moved = write_version(tmp_path / "here" / "faq", 7, "a", **{"model.tflite": "x", "README.md": "card"})
    assert one.fingerprint() != moved.fingerprint(), "tables of models have the name"
    assert one.digests() == {"reviews/1": one.fingerprint()}
    Path(other.path, "model.tflite").write_text("xy")
    assert one.fingerprint() != other.fingerprint()
