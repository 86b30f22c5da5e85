"""Lines are answered as they come, without waiting for more, and in bounded memory."""

import io
import os
import threading

import pytest

from components.dsl.errors import InputError
from keras_bert.tasks.classification import Classification
from pipeline.prediction import stream
from pipeline.prediction.stream import answer_stream
from tests.pipeline.table_tasks import make_task


@pytest.fixture(scope="module")
def task():
    return make_task(Classification, {"cow": [2, 0], "oak": [0, 2]}, labels=["animal", "plant"], max_length=8)


def labels(answers):
    return [line.split("\t")[0] for line in answers]


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        yield source, sink


def test_a_line_is_answered_before_the_next_one_is_written(task, pipe):
    source, sink = pipe
    # Without an answer at once this would wait for ever.
    hang = threading.Timer(60, os._exit, [3])
    hang.start()
    answers = answer_stream(task, source)
    for line, label in ((b"the cow\n", "animal"), (b"the oak\n", "plant"), (b"a \xc3", ""), (b"\xbc cow\n", "animal")):
        sink.write(line)
        if label:
            assert labels(next(answers).answers) == [label]
    sink.write(b"oak\ncow\noak")
    assert labels(next(answers).answers) == ["plant", "animal"], "what has arrived is answered together"
    sink.close()
    assert labels(next(answers).answers) == ["plant"]
    assert list(answers) == []
    hang.cancel()


class _Endless(io.RawIOBase):
    """Lines without end; counts the bytes that were read."""

    count = 0

    def read1(self, size):
        self.count += size
        return (b"the cow\n" * size)[:size]


def test_no_more_is_read_than_is_answered(task):
    source = _Endless()
    for answered, _ in zip(answer_stream(task, source), range(40), strict=False):
        assert set(labels(answered.answers)) == {"animal"}
        assert len(answered.answers) <= 256
    assert source.count <= 3 * 65536


def test_lines_before_a_wrong_one_are_answered(task):
    answers = answer_stream(task, io.BytesIO(b"cow\noak\n\xff\ncow\n"))
    assert labels(next(answers).answers) == ["animal", "plant"]
    with pytest.raises(InputError, match=r"^standard input must be UTF-8: line 3, "):
        next(answers)


def test_a_byte_order_mark_is_no_part_of_the_first_text(task, monkeypatch):
    texts = []
    monkeypatch.setattr(stream, "answer_lines", lambda task, part, second: texts.extend(part) or [])
    list(answer_stream(task, io.BytesIO(b"\xef\xbb\xbfcow\n\xef\xbb\xbfoak\n")))
    assert texts == ["cow", "\ufeffoak"]


def test_notes_count_all_lines(task):
    rows = [b"cow\n"] * 300 + [b"\n", b"cow " * 9]
    notes = [note for answered in answer_stream(task, io.BytesIO(b"".join(rows))) for note in answered.notes]
    assert notes == [
        "text 301 is empty for the model: the answer does not depend on it",
        "text 302: 3 of 11 tokens were cut, the model reads 8",
    ]


def test_a_line_without_end_is_refused(task, monkeypatch):
    monkeypatch.setattr(stream, "_LONGEST_LINE", 1 << 17)
    with pytest.raises(InputError, match=r"^a line of standard input must have at most 131072 bytes, got more$"):
        list(answer_stream(task, io.BytesIO(b"x" * (1 << 20))))
