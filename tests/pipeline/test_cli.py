"""The command line: bad input is one clear line and exit status 2, and leaves nothing but what was finished."""

import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli import command_groups, main
from pipeline.orchestrator.store import Store
from tests.pipeline.command_line import refused, said
from tests.pipeline.report.made_up import Root, job, node
from tests.tiny_job import write_job


def _change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def _empty_corpus(folder):
    for file in (folder / "texts").iterdir():
        file.write_text(" \n\n")


def _latin_corpus(folder):
    (folder / "texts" / "sea.txt").write_bytes(b"a caf\xe9 by the sea")


def _other_column(folder):
    _change(folder / "rows.tsv", "text\tlabel", "text\tlabels")


def _unseen_label(folder):
    (folder / "dev.tsv").write_text("text\tlabel\na star\tsky\n")
    _change(folder / "tiny.toml", 'train = "rows.tsv"', 'train = "rows.tsv"\nvalidation = "dev.tsv"')


def _misspelt_key(folder):
    _change(folder / "tiny.toml", "[pretraining]\nsteps", "[pretraining]\nstep")


def _missing_folder(folder):
    _change(folder / "tiny.toml", 'path = "texts"', 'path = "text"')


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_missing_folder, "the corpus must be a file or a folder that exists, got {folder}/text"),
        (_empty_corpus, "the corpus {folder}/texts must hold at least one document, got only blank text"),
        (_latin_corpus, "{folder}/texts/sea.txt must be UTF-8, got byte 0xe9 at offset 5"),
        (_other_column, "the table {folder}/rows.tsv has no column 'label'; did you mean 'labels'?"),
        (_unseen_label, "validation has the label 'sky', which training never saw; known: farm, sea"),
        (_misspelt_key, "there is no setting 'pretraining.step'; did you mean 'steps'?"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(tmp_path, capfd, spoil, message):
    settings = write_job(tmp_path / "job")
    spoil(tmp_path / "job")
    root = tmp_path / "root"
    assert refused(capfd, "run", settings, "--root", root) == message.format(folder=tmp_path / "job")
    assert not root.exists()


@pytest.mark.parametrize("place", ["--root={long}", "--set=push.folder={long}"])
def test_a_path_that_is_too_long_is_refused(tmp_path, capfd, place):
    settings, long = write_job(tmp_path / "job"), tmp_path / ("x" * 256)
    line = refused(capfd, "run", settings, f"--root={tmp_path / 'root'}", place.format(long=long))
    assert str(long) in line
    assert not (tmp_path / "root").exists()


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, capfd):
    line = refused(capfd, "report", "--out", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert line == f"--out must be a file, got the folder {tmp_path}"


def test_a_disk_that_is_full_where_no_step_is(tmp_path, capfd, monkeypatch):
    def fail(code):
        def write(_):
            raise OSError(code, os.strerror(code), "ladder.md")

        return write

    (tmp_path / "statistics.json").write_text("{}")
    monkeypatch.setattr("pipeline.views.statistics.read_artifact", fail(errno.ENOSPC))
    line = refused(capfd, "show", tmp_path)
    assert (
        line
        == "the disk must have space left, got [Errno 28] No space left on device: 'ladder.md'; make room, then go on"
    )
    monkeypatch.setattr("pipeline.views.statistics.read_artifact", fail(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        main(["show", str(tmp_path)])


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "--root", "{folder}/missing"],
        ["show", "--root", "{folder}"],
        ["report", "--root", "{folder}/missing"],
        ["report", "--root", "{folder}"],
        ["predict", "{folder}", "some text"],
    ],
)
def test_folders_that_are_not_what_they_should_be(tmp_path, capfd, arguments):
    assert str(tmp_path) in refused(capfd, *(argument.format(folder=tmp_path) for argument in arguments))


def test_show_shows_names_as_they_are(tmp_path, capsys):
    with contextlib.closing(Store(tmp_path)) as store:
        store.start_run("[mine] :cat:")
    assert "│ [mine] :cat: │" in said(capsys, "show", "--root", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["4"], "RUN must be a number that show lists, 1 to 1, got 4"),
        (["chain"], "STEP must be a step of a run, got 'chain'; known: load"),
        (["load-0"], "STEP must be a step of a run, got 'load-0'; did you mean 'load'?"),
        (["1", "--run", "1"], "--run must be left out without STEP, got 1"),
        (["./missing"], "FILE must be a file or a folder that exists, got {here}/missing"),
    ],
)
def test_show_refuses_what_is_not_there(tmp_path, capfd, arguments, message):
    Root(tmp_path).run(node("load"))
    assert refused(capfd, "show", *arguments, "--root", tmp_path) == message.format(here=Path.cwd())


def test_show_explains_a_step_of_several_seeds_unless_a_file_has_its_name(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    Root(root).run(node("load-0"), node("load-pruning+quantization"))
    for name in ("load-0", "load-pruning+quantization"):
        assert said(capfd, "show", name, "--root", root) == f"{name}, run 1: ran; it never ran before\n"
    Path("load-0").touch()
    assert "no pushed version or artifact holds it" in refused(capfd, "show", "load-0", "--root", root)


def test_report_writes_the_page_of_a_run(tmp_path, capfd):
    job(Root(tmp_path))
    Root(tmp_path).run(pipeline="another")
    for arguments, file in (
        (["1", "--root", str(tmp_path)], tmp_path / "reports" / "1.html"),
        (["--root", str(tmp_path)], tmp_path / "reports" / "2.html"),
        (["--root", str(tmp_path), "--out", str(tmp_path / "page.html")], tmp_path / "page.html"),
    ):
        assert main(["report", *arguments]) == 0
        assert capfd.readouterr() == (f"report: {file}\n", "")
        assert ("another" in file.read_text()) is (file.name != "1.html")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["3"], "RUN must be a number that show lists, 1 to 1, got 3"),
        (["--out", "{folder}/no/page.html"], "--out must be in a folder that exists, got {folder}/no/page.html"),
    ],
)
def test_a_report_that_cannot_be(tmp_path, capfd, arguments, message):
    Root(tmp_path).run()
    typed = [argument.format(folder=tmp_path) for argument in arguments]
    assert refused(capfd, "report", *typed, "--root", tmp_path) == message.format(folder=tmp_path)
    assert not (tmp_path / "reports").exists()


HEAVY = "tensorflow keras apache_beam sklearn matplotlib".split()
# What help needs none of.
SLOW = [*HEAVY, "numpy", "pydantic", "sqlite3"]


def _check_nothing_heavy_is_imported(code, heavy=HEAVY):
    check = f"; import sys; heavy = set({heavy}) & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code + check], check=True, env=environment)


def test_help_of_all_commands_loads_nothing_slow():
    verbs = [name for names in command_groups().values() for name in names]
    code = f"from pipeline.cli import main; assert not any(main([*verb, '--help']) for verb in {[[], *zip(verbs)]})"
    _check_nothing_heavy_is_imported(code, SLOW)


def test_answers_to_texts_load_no_beam():
    code = "from pipeline.cli import main; assert main(['predict', 'missing', 'a text']) == 2"
    _check_nothing_heavy_is_imported(code, ["apache_beam"])


def test_the_page_of_a_cached_run_loads_nothing_heavy(tmp_path):
    job(Root(tmp_path))
    assert main(["report", "--root", str(tmp_path)]) == 0, "draws the figures, which later pages reuse"
    _check_nothing_heavy_is_imported(
        f"from pipeline.cli import main; assert main(['report', '--root', {str(tmp_path)!r}]) == 0"
    )
