import errno
import json
import os
import subprocess
import sys

import fsspec
import pytest

from components.dsl.errors import InputError
from components.files.paths import file_digest, match_files, short_name
from components.files.text_files import read_chunks
from components.sources.text import TextSource

KINDS = (".txt", ".arrow")


class Memory:
    """Files of fsspec's file system in memory, by address."""

    def __setitem__(self, address, content):
        fsspec.filesystem("memory").pipe(address, content)


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield Memory()
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def make(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def match(folder, path, split=""):
    return [file.removeprefix(f"{folder}/") for file in match_files(f"{folder}{path}", KINDS, split, what="the data")]


def test_a_file_a_folder_and_patterns(tmp_path):
    make(tmp_path, "b.txt", "a.md", "a/z.txt.gz", "a/b/c.txt")
    assert match(tmp_path, "") == match(tmp_path, "/") == ["a/b/c.txt", "a/z.txt.gz", "b.txt"]
    assert match(tmp_path, "/a.md") == ["a.md"]
    assert match(tmp_path, "/*.*") == ["a.md", "b.txt"]
    assert match(tmp_path, "/**/*.txt*") == ["a/b/c.txt", "a/z.txt.gz", "b.txt"]


def test_links_to_folders_are_followed_and_loops_of_them_end(tmp_path):
    make(tmp_path, "data/a/x.txt", "elsewhere/y.txt", "elsewhere/deep/z.txt")
    (tmp_path / "data" / "b").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "none").symlink_to(tmp_path / "nothing")
    # Two ways round, so that to go on until the system gives up would take 2^40 steps.
    for name in ("up", "again"):
        (tmp_path / "data" / "a" / name).symlink_to(tmp_path / "data")
    (tmp_path / "elsewhere" / "self").symlink_to("self")
    paths = ["data/a/x.txt", "data/b/deep/z.txt", "data/b/y.txt"]
    assert match(tmp_path, "/data") == paths
    for pattern in ("/data/**/*.txt", "/data/**", "/*/**/[xyz].txt", "/**/data/**/*.txt"):
        assert [file for file in match(tmp_path, pattern) if file.startswith("data/")] == paths
    assert match(tmp_path, "/data/*/*.txt") == ["data/a/x.txt", "data/b/y.txt"]


def test_a_folder_that_is_a_link_and_one_beside_it(tmp_path):
    make(tmp_path, "a/x.txt")
    (tmp_path / "b").symlink_to("a")
    assert match(tmp_path, "") == match(tmp_path, "/**/*.txt") == ["a/x.txt", "b/x.txt"]
    assert match(tmp_path, "/b") == ["b/x.txt"]


def test_patterns_from_the_working_folder(tmp_path, monkeypatch):
    make(tmp_path, "a.txt", "b/c[1].txt", "b[2]/d.txt", ".hidden/e.txt")
    monkeypatch.chdir(tmp_path)
    paths = ["a.txt", "b/c[1].txt", "b[2]/d.txt"]
    assert match_files("**/*.txt", KINDS, what="the data") == paths
    assert match_files("**", KINDS, what="the data") == paths
    assert match_files("b*/**", KINDS, what="the data") == paths[1:]
    assert match_files(".", KINDS, what="the data") == [f"./{file}" for file in paths]


def test_hidden_copies_of_data_are_left_out_of_a_folder(tmp_path):
    make(tmp_path, ".x/a.txt", ".x/.ipynb_checkpoints/a-checkpoint.txt", ".x/b/.c/d.txt", ".x/._a.txt")
    assert match(tmp_path, "/.x") == [".x/a.txt"]
    assert match(tmp_path, "/.x/._a.txt") == [".x/._a.txt"], "as it is named"


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    make(tmp_path, "a/x.txt", "b/y.txt")

    def scandir(path, scan=os.scandir):
        if str(path) == f"{tmp_path}/b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scan(path)

    # Not by its mode, which does not hold back the superuser.
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"^the folder .*/b must be readable, got Permission denied$"):
        match(tmp_path, "")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    make(tmp_path, "a[1].txt", "a1.txt")
    assert match(tmp_path, "/a[1].txt") == ["a[1].txt"]


def test_a_name_that_is_not_utf8_is_refused_where_the_file_is_read(tmp_path):
    make(tmp_path, "a.txt", "b.md")
    (tmp_path / "b.md").rename(tmp_path / "caf\udce9.md")
    assert match(tmp_path, "") == ["a.txt"]
    make(tmp_path, "b/c.txt")
    (tmp_path / "b" / "c.txt").rename(tmp_path / "b" / "caf\udce9.txt")
    for path in ("", "/**/*.txt"):
        with pytest.raises(
            InputError, match=r"the data must hold files with names in UTF-8, got .*b/caf\\udce9.txt'; r"
        ):
            match(tmp_path, path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none", r"the data must be a file or a folder that exists, got .*none"),
        ("/*.csv", r"the data must be a pattern that matches a file, got .*\*\.csv"),
        ("/empty", r"the data must hold \.txt, \.arrow files, got none in the folder .*empty"),
        ("/a", r"the data must hold \.txt, \.arrow files, got none in the folder .*a"),
    ],
)
def test_nothing_there(tmp_path, path, message):
    make(tmp_path, "a/readme.md")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        match(tmp_path, path)


def test_short_names_do_not_depend_on_where_the_data_lies():
    assert short_name("/data/x/a.txt", "/data/x") == "a.txt"
    assert short_name("/data/x/b/a.txt", "/data/x/") == "b/a.txt"
    assert short_name("/data/x/a.txt", "/data/x/a.txt") == "a.txt"
    assert short_name("/data/x/b/a.txt", "/data/*/b/?.txt") == "x/b/a.txt"
    assert short_name("a.txt", "*.txt") == "a.txt"
    assert short_name("/a[b]/x/y.txt", "/a[[]b]/x/*.txt") == "y.txt"
    assert short_name("/a[b]/x/y.txt", "/a[[]b]/*/*.txt") == "x/y.txt"
    assert short_name("gs://data/x/a.txt", "gs://data/x/") == "a.txt"


def test_a_saved_dataset(tmp_path):
    make(tmp_path, "dataset_info.json", "state.json", "data-00000-of-00001.arrow", "cache-0f.arrow")
    assert match(tmp_path, "") == ["data-00000-of-00001.arrow"]
    assert match_files(str(tmp_path), (".json", ".arrow"), what="the data") == [f"{tmp_path}/data-00000-of-00001.arrow"]
    with pytest.raises(InputError, match=r"must hold dataset_dict\.json to have the split 'train', got none"):
        match(tmp_path, "", "train")
    with pytest.raises(InputError, match=r"must be a folder with dataset_dict\.json to have the split 'train'"):
        match(tmp_path, "/data-00000-of-00001.arrow", "train")


def test_a_saved_dataset_with_splits(tmp_path):
    make(tmp_path, "d/dataset_dict.json", "d/train/data-0.arrow", "d/test/data-0.arrow", "d/test/state.json")
    assert match(tmp_path, "/d", "test") == ["d/test/data-0.arrow"]
    with pytest.raises(InputError, match=r"d has splits: split, or the path, must name one of \['test', 'train'\]"):
        match(tmp_path, "/d")
    with pytest.raises(InputError, match=r"d has no split 'tran'; did you mean 'train'\?"):
        match(tmp_path, "/d", "tran")
    with pytest.raises(InputError, match=r"must be the dataset folder itself, .*/d"):
        match(tmp_path, "")


def test_remote_files(memory):
    for name in ("b.txt", "a/c.txt", "a/d.md"):
        memory[f"memory://texts/{name}"] = b"x"
    assert match_files("memory://texts/", KINDS, what="the data") == ["memory://texts/a/c.txt", "memory://texts/b.txt"]
    assert match_files("memory://texts/b.txt", KINDS, what="the data") == ["memory://texts/b.txt"]
    assert match_files("memory://texts/*.txt", KINDS, what="the data") == ["memory://texts/b.txt"]
    assert match_files("memory://texts/**/*.txt", KINDS, what="the data") == [
        "memory://texts/a/c.txt",
        "memory://texts/b.txt",
    ]
    with pytest.raises(InputError, match=r"the data must be a file or a folder that exists, got memory://none"):
        match_files("memory://none", KINDS, what="the data")


def test_a_remote_corpus(memory):
    memory["memory://texts/a/b.txt"] = b"one\n\ntwo"
    source = TextSource("memory://texts")
    source.check()
    assert [document.source for document in source.documents("memory://texts/a/b.txt")] == [
        "a/b.txt#0",
        "a/b.txt#1",
    ]
    before = source.fingerprint()
    assert file_digest("memory://texts/a/b.txt").startswith("8-")
    assert source.fingerprint() == before
    memory["memory://texts/a/b.txt"] = b"three"
    assert source.fingerprint() != before
    with pytest.raises(InputError, match=r"memory://texts/c\.txt must exist, found nothing there"):
        file_digest("memory://texts/c.txt")


def test_a_scheme_that_nobody_serves():
    with pytest.raises(InputError, match=r"^gopher://x.* must be readable, got Protocol not known: gopher"):
        match_files("gopher://x", KINDS, what="the data")
    with pytest.raises(InputError, match=r"gopher://x must be readable, got Protocol not known: gopher"):
        list(read_chunks("gopher://x"))


def test_a_digest_follows_the_bytes(tmp_path):
    make(tmp_path, "a.txt", "b.txt")
    (tmp_path / "c.txt").write_text("a.txt")
    one, other, same = (file_digest(str(tmp_path / name)) for name in ("a.txt", "b.txt", "c.txt"))
    assert one == same != other
    with pytest.raises(InputError, match=r"none must be readable, got No such file"):
        file_digest(str(tmp_path / "none"))


def test_local_files_do_without_beam(tmp_path):
    make(tmp_path, "a.txt")
    code = (
        "import sys, json; from components.sources.text import TextSource; source = TextSource(sys.argv[1]); "
        "source.check(); source.fingerprint(); print(json.dumps([*sys.modules]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert not {"apache_beam", "pyarrow", "zstandard"}.intersection(loaded)
