import pytest

from keras_bert.core.folders import replaced_file, staged_files


def test_files_appear_together_and_replace_those_of_the_same_names(tmp_path):
    folder = tmp_path / "new" / "folder"
    with staged_files(folder) as staging:
        (staging / "a").write_text("first")
        (staging / "inner").mkdir()
        (staging / "inner" / "b").write_text("first")
        assert not folder.exists()
    with staged_files(folder) as staging:
        (staging / "inner").mkdir()
        (staging / "inner" / "b").write_text("second")
        assert (folder / "inner" / "b").read_text() == "first"
    files = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    assert files == {"new/folder/a": "first", "new/folder/inner/b": "second"}


@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path, exists):
    folder = tmp_path / "folder"
    if exists:
        folder.mkdir()
        (folder / "a").write_text("before")

    def fail():
        with staged_files(folder) as staging:
            (staging / "a").write_text("after")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        fail()
    assert [file.name for file in tmp_path.rglob("*")] == (["folder", "a"] if exists else [])
    assert not exists or (folder / "a").read_text() == "before"


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match=r"file must be a folder, got a file"), staged_files(tmp_path / "file"):
        pass


@pytest.mark.parametrize("elsewhere", [False, True])
def test_replaced_file_leaves_the_old_file_until_the_new_one_is_whole(tmp_path, elsewhere):
    scratch = tmp_path / "scratch" if elsewhere else None
    (tmp_path / "scratch").mkdir()
    file = tmp_path / "file"
    with replaced_file(file, scratch) as first, replaced_file(file, scratch) as second:
        assert first != second
        assert first.parent == (scratch or tmp_path)
        first.write_text("first")
        second.write_text("second")
        assert not file.exists()
    assert file.read_text() == "first"

    def fail():
        with replaced_file(file, scratch) as unfinished:
            unfinished.write_text("half")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        fail()
    assert file.read_text() == "first"
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["file", "scratch"]
