"""`predict` on the command line: where its texts come from, and what is refused."""

import errno
import io
import json
import os
import sys
from pathlib import Path

import pytest

from components.answers.model_inputs import open_task
from components.beam.engine import BeamOptions
from components.dsl.errors import InputError
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tasks.token_classification import TokenClassification
from pipeline.cli import main
from pipeline.job.files import load_beam
from tests.pipeline.command_line import refused, said
from tests.pipeline.table_tasks import make_task


@pytest.fixture
def classifier(monkeypatch):
    task = make_task(Classification, {"cow": [2, 0], "oak": [0, 2]}, labels=["animal", "plant"], max_length=8)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    return task


def type_in(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_predict_tells_of_long_texts(monkeypatch, capfd):
    task = make_task(Classification, {"cow": [2, 0], "oak": [0, 2]}, labels=["animal", "plant"], max_length=8)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    texts = ["cow " * 18, "oak " * 6, "oak " * 7]
    capfd.readouterr()  # the libraries' notes on making the task
    assert main(["predict", "folder", *texts]) == 0
    printed = capfd.readouterr()
    assert printed.err.splitlines() == [
        "text 1: 12 of 20 tokens were cut, the model reads 8",
        "text 3: 1 of 9 tokens were cut, the model reads 8",
    ]
    assert [line.split("\t")[::2] for line in printed.out.splitlines()] == [
        [label, text] for label, text in zip(("animal", "plant", "plant"), texts, strict=True)
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_the_output_cannot_encode_are_escaped(monkeypatch, classifier, tmp_path, encoding):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert main(["predict", "folder", "cow \u65e5"]) == 0
    assert main(["predict", "folder", "cow", "--table", "\U0001f600.csv", "--text", "a", "--out", "a.csv"]) == 2
    assert main(["predict", "folder", "--table", "a.csv", "--text", "a", "--out", f"{tmp_path}/\udcc3.csv"]) == 2
    written = {}
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        stream.flush()
        written[name] = stream.buffer.getvalue().decode(encoding)
    assert written["stdout"].endswith("\tcow \\u65e5\n")
    assert f"--out must be a name in UTF-8, got '{tmp_path}/\\udcc3.csv'" in written["stderr"]


def test_a_single_text_is_a_query_or_a_passage(monkeypatch, capfd, classifier):
    line = refused(capfd, "predict", "folder", "cow", "--prompt", "query")
    assert line == "--prompt is only allowed for embedding and retrieval, got it for classification"
    numbers = {"cow": [1.0, 0.0], "oak": [0.0, 1.0], "the": [0.0, 4.0]}
    task = make_task(Retrieval, numbers, prompts={"query": "oak ", "passage": "the "})
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    for arguments, expected in (((), [1.0, 1.0]), (("--prompt", "passage"), [1.0, 4.0])):
        task.single_prompt = "query"
        assert json.loads(said(capfd, "predict", "folder", "cow", *arguments)) == expected
    assert said(capfd, "predict", "folder", "cow", "--second", "cow") == "0.8575\tcow\tcow\n"
    line = refused(capfd, "predict", "folder", "cow", "--second", "cow", "--prompt", "query")
    assert line == "--prompt must be left out with --second: a pair is a query and a passage"


def test_a_tagger_gives_each_word_its_tag(classifier, capfd, monkeypatch):
    line = refused(capfd, "predict", "folder", "cow", "--words")
    assert line == "--words is only allowed for token_classification, got it for classification"
    numbers = {"cow": [0, 2], "oak": [2, 0], "the": [2, 0]}
    task = make_task(TokenClassification, numbers, labels=["O", "B-animal"], max_length=16)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    assert said(capfd, "predict", "folder", "the cow", "--words") == "the/O cow/B-animal\n"


def test_codes_of_vectors_are_those_of_tables(capfd, tmp_path, classifier):
    with pytest.raises(InputError, match=r"^--vectors is only allowed for embedding and retrieval, got it for class"):
        open_task(Path("folder"), vectors="int8")
    line = refused(capfd, "predict", "folder", "cow", "--vectors", "int8")
    assert line == "--vectors must be left out without --table, got int8"
    table = ("--table", "rows.csv", "--text", "text", "--out", str(tmp_path / "out.csv"))
    line = refused(capfd, "predict", "folder", *table, "--second", "other", "--vectors", "int8")
    assert line == "--vectors must be left out with --second: a pair has a cosine"
    assert not (tmp_path / "out.csv").exists()


def test_predict_needs_what_the_task_needs(monkeypatch, capfd):
    task = make_task(QuestionAnswering, {"cow": [9, 9]}, max_length=32, stride=8, max_query_length=8)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    line = refused(capfd, "predict", "folder", "the ?")
    assert line == "--second must give the context of each question, got none"
    line = refused(capfd, "predict", "folder", "the ?", "cow ?", "--second", "the cow")
    assert line == "--second must be given once for each TEXT (2), got 1"
    assert said(capfd, "predict", "folder", "the ?", "--second", "the cow the").startswith("cow\t")


def test_texts_are_read_from_standard_input(classifier, monkeypatch, capfd):
    capfd.readouterr()
    type_in(monkeypatch, "the cow\r\nthe oak\u2028\n".encode())
    assert main(["predict", "folder", "-"]) == 0
    type_in(monkeypatch, b"the\tcow\nthe\toak")
    classifier.pairs = True
    assert main(["predict", "folder", "-"]) == 0
    lines = capfd.readouterr().out.split("\n")
    assert [line.split("\t")[::2] for line in lines[:2]] == [["animal", "the cow"], ["plant", "the oak\\u2028"]]
    assert [line.split("\t")[2:] for line in lines[2:4]] == [["the", "cow"], ["the", "oak"]]


@pytest.mark.parametrize(
    ("content", "pairs", "message"),
    [
        (b"", None, "standard input must hold a text a line, got nothing"),
        (b"the\tcow\n", False, "line 1 of standard input must hold one text, got 2; cut -f picks columns"),
        (
            b"a\tb\na\n",
            True,
            "line 2 of standard input must hold two texts, parted by a tab, got 1; cut -f picks columns",
        ),
        (
            b"a\tb\tc",
            None,
            "line 1 of standard input must hold two texts, parted by a tab, got 3; cut -f picks columns",
        ),
        (b"\xff", None, "standard input must be UTF-8: "),
    ],
)
def test_lines_that_cannot_be_asked(content, pairs, message, classifier, monkeypatch, capfd):
    type_in(monkeypatch, content)
    classifier.pairs = pairs
    assert refused(capfd, "predict", "folder", "-").startswith(message)


def test_a_path_is_no_text(tmp_path, classifier, capfd):
    (tmp_path / "data.tsv").write_text("the cow")
    file = str(tmp_path / "data.tsv")
    expected = (
        f"TEXT must be a text, got the file {file}; to ask its lines: predict MODEL - < {file}; a table: predict MODEL "
        f"--table {file}"
    )
    assert refused(capfd, "predict", "folder", file) == expected
    assert refused(capfd, "predict", "folder", "the cow", "--second", file) == expected
    assert "must be the only TEXT" in refused(capfd, "predict", "folder", "-", "the cow")
    assert refused(capfd, "predict", "folder").startswith("TEXT must follow MODEL, got none")
    assert refused(capfd, "predict", "folder", tmp_path) == f"TEXT must be a text, got the folder {tmp_path}"


def test_a_word_may_be_the_name_of_a_folder(tmp_path, classifier, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cow").mkdir()
    assert said(capfd, "predict", "folder", "cow").startswith("animal\t")


def test_an_empty_text_is_answered_with_a_note(classifier, capfd):
    capfd.readouterr()
    assert main(["predict", "folder", ""]) == 0
    printed = capfd.readouterr()
    assert printed.err == "text 1 is empty for the model: the answer does not depend on it\n"
    assert len(printed.out.splitlines()) == 1


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table in the working directory, and a model beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_text("a stand-in")
    (tmp_path / "rows.csv").write_text("text,label\nthe cow,1\n,2\nthe oak,3\n" + f"{'cow ' * 9},4\n")
    return tmp_path / "rows.csv"


def test_a_table_is_answered_in_columns_beside_its_own(classifier, table, capfd):
    capfd.readouterr()
    arguments = ["predict", "model.onnx", "--table", "*.csv", "--text", "text", "--out", "out.jsonl"]
    assert main([*arguments, "--prefix", "model_", "--set", "beam.workers=1"]) == 0
    printed, folder = capfd.readouterr(), table.parent
    # Lines about the progress come before them on a busy machine.
    assert printed.out.splitlines()[-3:] == [
        f"{folder}/out.jsonl: 3 rows, answers in the columns model_label, model_probability",
        f"bad rows: 1, left out; {folder}/out.jsonl.errors.jsonl has their numbers and the reasons",
        "rows that are longer than the model reads: 1; the rest of them was cut",
    ]
    assert printed.err == ""
    answers = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [(row["label"], row["model_label"]) for row in answers] == [("1", "animal"), ("3", "plant"), ("4", "animal")]
    assert main([*arguments, "--set", "beam.workers=1"]) == 0
    first = json.loads((folder / "out.jsonl").read_text().splitlines()[0])
    assert (first["label"], first["predicted_label"]) == ("1", "animal")
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.onnx",
        "out.jsonl",
        "out.jsonl.errors.jsonl",
        "rows.csv",
    ]


TABLE = ("--table", "rows.csv", "--text", "text", "--out", "out.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a text", *TABLE), "TEXT must be left out with --table, got 'a text'"),
        ((*TABLE, "a text"), "TEXT must be left out with --table, got 'a text'"),
        (TABLE[:4], "--out must be given with --table, as --out answers.parquet"),
        (TABLE[:2], "--text must be given with --table, as --text review"),
        (("a text", "--out", "out.csv"), "--out must be left out without --table, got "),
        ((*TABLE, "--second", "a", "--second", "b"), "--second must name one column with --table, got 2"),
        ((*TABLE[:4], "--out", "no/out.csv"), "--out must be in a folder that exists, got "),
        ((*TABLE[:4], "--out", "."), "--out must be a file, got the folder "),
        ((*TABLE, "--set", "distillation.epochs=2"), "--set must be a key of [beam] here, as beam.workers=2, got dis"),
        ((*TABLE, "--set", "beam.worker=2"), "there is no setting 'beam.worker'; did you mean 'workers'?"),
        ((*TABLE, "--beam", "job.toml"), "the settings file "),
        ((*TABLE[:3], "txt", *TABLE[4:]), "the table {table} has no column 'txt'; did you mean 'text'?"),
    ],
)
def test_options_of_tables_that_do_not_go_together(arguments, message, classifier, table, capfd):
    assert refused(capfd, "predict", "model.onnx", *arguments).startswith(message.format(table=table))
    assert sorted(path.name for path in table.parent.iterdir()) == ["model.onnx", "rows.csv"]


def test_a_model_that_is_none(table, capfd):
    for model in ("rows.csv", "missing.onnx", "."):
        line = refused(capfd, "predict", model, *TABLE)
        assert str(table.parent) in line
        assert not (table.parent / "out.csv").exists()


def test_the_table_beam_of_a_job_says_where_rows_are_answered(table):
    (table.parent / "job.toml").write_text('name = "any"\n[beam]\nrunner = "FlinkRunner"\n[student]\nlayers = "x"\n')
    beam = load_beam(table.parent / "job.toml", ["beam.workers=3"])
    assert (beam.runner, beam.workers) == ("FlinkRunner", 3)
    assert load_beam(None) == BeamOptions()


def test_a_full_disk_is_told_with_the_way_on(classifier, table, monkeypatch, capfd):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("cut_table", "PartWriter.write", "join_parts"):
        with monkeypatch.context() as patch:
            patch.setattr(f"components.answers.answer_table.{name}", fail)
            line = refused(capfd, "predict", "model.onnx", *TABLE, "--prefix", "model_")
        assert line.startswith(f"--out must lie on a disk with space left, got {table.parent}/out.csv; make room, then")
        assert not (table.parent / "out.csv").exists()
    assert main(["predict", "model.onnx", *TABLE, "--prefix", "model_"]) == 0


def test_a_worker_that_fails_is_one_line(classifier, table, monkeypatch, capfd):
    def fail(*_, **__):
        raise RuntimeError("the worker\nfell over")

    monkeypatch.setattr("components.answers.answer_table.run_over", fail)
    capfd.readouterr()
    assert main(["predict", "model.onnx", *TABLE, "--prefix", "model_"]) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert line == (
        "error: the table was not answered: fell over; the same command goes on with the chunks that are missing"
    )


def test_a_reader_that_has_enough_is_no_error(classifier, monkeypatch, capfd):
    reading, writing = os.pipe()
    os.close(reading)
    type_in(monkeypatch, b"the cow\n" * 5)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["predict", "folder", "-"]) == 0
