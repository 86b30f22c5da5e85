import json
import os
import time
from pathlib import Path

import pytest

from components.artifacts.pushed import Pushed
from components.artifacts.standard import Corpus, Vocabulary
from components.dsl.artifact import MANIFEST, content_digest, list_files


def sealed(path: Path, text: str = "text") -> Corpus:
    path.mkdir(parents=True)
    corpus = Corpus(path)
    corpus.file("a.txt").write_text(text)
    corpus.counts["documents"] = 1
    corpus.seal({"size": 3})
    return corpus


def test_the_manifest_says_what_is_there(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    assert corpus.manifest() == {
        "type": "Corpus",
        "format_version": 1,
        "fingerprint": corpus.fingerprint(),
        "files": {"a.txt": 4},
        "counts": {"documents": 1},
        "parameters": {"size": 3},
    }
    assert repr(corpus) == f"Corpus('{tmp_path / 'c'}')"


def test_the_fingerprint_is_of_names_and_bytes_only(tmp_path: Path) -> None:
    first = sealed(tmp_path / "1")
    same = sealed(tmp_path / "2")
    same.counts["documents"] = 2
    assert same.seal({"size": 4}) == first.fingerprint()
    assert sealed(tmp_path / "3", "other").fingerprint() != first.fingerprint()
    same.file("a.txt").rename(same.file("b.txt"))
    assert same.seal({}) != first.fingerprint()


def test_files_in_folders_count_whatever_their_name(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    before = corpus.fingerprint()
    corpus.file("deep").mkdir()
    corpus.file("deep/manifest.json").write_text("{}")
    assert corpus.seal({}) != before
    assert sorted(corpus.manifest()["files"]) == ["a.txt", "deep/manifest.json"]


def test_links_are_no_files_of_an_artifact(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hello")
    corpus = sealed(tmp_path / "c", "hello")
    corpus.file("a.txt").unlink()
    corpus.file("a.txt").symlink_to(tmp_path / "secret")
    assert list_files(corpus.path) == [MANIFEST]
    assert not corpus.is_intact()


def test_touched_file_is_intact(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    assert corpus.is_intact()
    late = corpus.file(MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(corpus.file("a.txt"), ns=(late, late))
    assert corpus.is_intact()
    corpus.file("a.txt").write_text("TEXT")
    os.utime(corpus.file("a.txt"), ns=(late, late))
    assert not corpus.is_intact()


def test_change_with_an_older_timestamp_is_found(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    tomorrow = time.time() + 24 * 3600
    for file in corpus.path.iterdir():
        os.utime(file, (tomorrow, tomorrow))
    assert corpus.is_intact()
    corpus.file("a.txt").write_text("tent")
    assert not corpus.is_intact()


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"type": "Corpus", "format_version": 1, "files": 3}'])
def test_a_broken_manifest_is_not_intact(tmp_path: Path, text: str) -> None:
    corpus = sealed(tmp_path / "c")
    corpus.file(MANIFEST).write_text(text)
    assert not corpus.is_intact()


def test_a_manifest_without_a_fingerprint_is_not_intact(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    content = corpus.manifest()
    del content["fingerprint"]
    corpus.file(MANIFEST).write_text(json.dumps(content))
    assert not corpus.is_intact()


def test_missing_or_shorter_files_are_not_intact(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    corpus.file("a.txt").write_text("t")
    assert not corpus.is_intact()
    corpus.file("a.txt").unlink()
    assert not corpus.is_intact()
    assert not Corpus(tmp_path / "nowhere").is_intact()


def test_a_file_that_was_added_is_not_intact(tmp_path: Path) -> None:
    corpus = sealed(tmp_path / "c")
    corpus.file("deep").mkdir()
    assert corpus.is_intact(), "a folder without files holds nothing"
    late = corpus.file("deep/b.txt")
    late.touch()
    os.utime(late, (0, 0))
    assert not corpus.is_intact()


def test_another_type_is_refused(tmp_path: Path) -> None:
    sealed(tmp_path / "c")
    with pytest.raises(TypeError, match="holds a Corpus of format 1, expected a Vocabulary of format 1"):
        Vocabulary(tmp_path / "c").manifest()
    with pytest.raises(FileNotFoundError, match=r"is not a Corpus: it has no manifest\.json"):
        Corpus(tmp_path).manifest()


def test_pushed_is_intact_while_the_pushed_files_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "v1").mkdir()
    pushed, model = Pushed(tmp_path / "p"), tmp_path / "v1" / "model.tflite"
    model.write_text("model")
    content = {"path": str(tmp_path / "v1"), "version": 1, "files": {"model.tflite": content_digest(model)}}
    pushed.file("pushed.json").write_text(json.dumps(content))
    pushed.seal({})
    assert pushed.location() == tmp_path / "v1"
    assert pushed.is_intact()
    model.write_text("MODEL")
    os.utime(model, (0, 0))
    assert not pushed.is_intact(), "neither size nor time tell"
    model.unlink()
    assert not pushed.is_intact()
