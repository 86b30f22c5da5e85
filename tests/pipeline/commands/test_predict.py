"""`predict` on the command line: where its texts come from, and what is refused."""

import io
import sys
from pathlib import Path

import pytest

from keras_bert.tasks.classification import Classification
from keras_bert.tasks.question_answering import QuestionAnswering
from pipeline.cli import main
from tests.pipeline.table_tasks import make_task


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that is refused."""
    capfd.readouterr()
    assert main(arguments) == 2
    (line,) = capfd.readouterr().err.splitlines()
    return line.removeprefix("error: ")


@pytest.fixture
def classifier(monkeypatch: pytest.MonkeyPatch) -> Classification:
    task = make_task(Classification, {"cow": [2, 0], "oak": [0, 2]}, labels=["animal", "plant"], max_length=8)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    return task


def type_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_predict_tells_of_long_texts(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
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


def test_predict_needs_what_the_task_needs(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    task = make_task(QuestionAnswering, {"cow": [9, 9]}, max_length=32, stride=8, max_query_length=8)
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda folder: task)
    line = refused(capfd, "predict", "folder", "the ?")
    assert line == "--second must give the context of each question, got none"
    line = refused(capfd, "predict", "folder", "the ?", "cow ?", "--second", "the cow")
    assert line == "--second must be given once for each TEXT (2), got 1"
    assert main(["predict", "folder", "the ?", "--second", "the cow the"]) == 0
    assert capfd.readouterr().out.startswith("cow\t")


def test_texts_are_read_from_standard_input(
    classifier: Classification, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
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
def test_lines_that_cannot_be_asked(
    content: bytes,
    pairs: bool | None,
    message: str,
    classifier: Classification,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    type_in(monkeypatch, content)
    classifier.pairs = pairs
    assert refused(capfd, "predict", "folder", "-").startswith(message)


def test_a_path_is_no_text(tmp_path: Path, classifier: Classification, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.tsv").write_text("the cow")
    file = str(tmp_path / "data.tsv")
    expected = f"TEXT must be a text, got the file {file}; to ask its lines: predict MODEL - < {file}"
    assert refused(capfd, "predict", "folder", file) == expected
    assert refused(capfd, "predict", "folder", "the cow", "--second", file) == expected
    assert "must be the only TEXT" in refused(capfd, "predict", "folder", "-", "the cow")


def test_an_empty_text_is_answered_with_a_note(classifier: Classification, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    assert main(["predict", "folder", ""]) == 0
    printed = capfd.readouterr()
    assert printed.err == "text 1 is empty for the model: the answer does not depend on it\n"
    assert len(printed.out.splitlines()) == 1
