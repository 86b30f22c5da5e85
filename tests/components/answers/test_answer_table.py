"""Answered tables of every format: answers equal `predict`, in order; the output is complete or missing."""

import csv
import dataclasses
import errno
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.answers import cut_table
from components.answers.answer_table import PartWriter, answer_table
from components.answers.table_request import TableRequest, digest_request
from components.answers.work_folder import locked_folder, work_folder
from components.beam.engine import BeamOptions
from components.dsl.errors import InputError
from keras_bert.core.vector_codes import binary_codes, int8_codes
from keras_bert.tasks.calibration import Calibration
from tests.components.answers.table_models import (
    classification,
    embedding,
    entities,
    label_sets,
    questions,
    regression,
    speech,
    use_task,
)
from tests.samples import long_but

TEXTS = ["the cow", "oak", "hen cow the hen", "the oak cow", "cow"]
SECONDS = ["the cow the hen", "the oak", "oak", "hen", "cow hen"]
KINDS = (".parquet", ".csv", ".jsonl")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Answers a table with a task, in this process."""

    def answer(task, table, out, **request):
        model = use_task(monkeypatch, tmp_path, task)
        settings = {"text": "text", "beam": BeamOptions(workers=1), **request}
        return answer_table(TableRequest(model=model, table=str(table), out=out, **settings))

    return answer


def read(file):
    if file.suffix == ".parquet":
        return list(pq.read_table(file).to_pylist())
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def write_pairs(file):
    rows = zip(TEXTS, SECONDS, range(5), strict=True)
    file.write_text("".join(json.dumps({"text": a, "other": b, "n": n}) + "\n" for a, b, n in rows))
    return file


def values(kind, *columns):
    """Answers as a format stores them; CSV stores text."""
    if kind == ".csv":
        columns = tuple(
            [value if isinstance(value, str) else json.dumps(value) for value in column] for column in columns
        )
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("kind", long_but([".csv"], KINDS))
def test_answers_of_each_task_equal_predict(tmp_path, ask, kind):
    table, out = write_pairs(tmp_path / "pairs.jsonl"), tmp_path / f"out{kind}"

    def answers(task, *names, **request):
        result = ask(task, table, out, **request)
        assert (result.rows, result.columns) == (5, list(names))
        rows = read(out)
        assert [list(row) for row in rows] == [["text", "other", "n", *names]] * 5
        assert [(row["text"], row["other"], int(row["n"])) for row in rows] == list(
            zip(TEXTS, SECONDS, range(5), strict=True)
        )
        return [tuple(row[name] for name in names) for row in rows]

    task = classification()
    labels, probabilities = zip(*map(dataclasses.astuple, task.predict(TEXTS)), strict=True)
    assert answers(task, "label", "probability") == values(kind, labels, probabilities)
    pairs = [dataclasses.astuple(answer) for answer in task.predict(TEXTS, SECONDS)]
    assert pairs != [dataclasses.astuple(answer) for answer in task.predict(TEXTS)]
    assert answers(task, "label", "probability", second="other") == values(kind, *zip(*pairs, strict=True))
    task.calibration = Calibration(1.0, 0.8)
    sure = [probability >= 0.8 for probability in probabilities]
    assert set(sure) == {True, False}
    assert answers(task, "label", "probability", "sure") == values(kind, labels, probabilities, sure)
    ranked = list(label_sets().answer_values(TEXTS))
    assert [labels for labels, _ in ranked] == [["animal"], [], ["animal"], [], ["animal"]]
    shares = [[dataclasses.asdict(answer) for answer in row] for _, row in ranked]
    assert answers(label_sets(), "labels", "probabilities") == values(kind, [labels for labels, _ in ranked], shares)
    assert answers(regression(), "number") == values(kind, regression().predict(TEXTS))
    vectors = embedding().predict(TEXTS)
    assert answers(embedding(), "vector", "vector_space") == values(kind, vectors.tolist(), [""] * 5)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (vectors, embedding().predict(SECONDS))]
    similarities = [float(row[0]) for row in answers(embedding(), "similarity", second="other")]
    np.testing.assert_allclose(similarities, (unit[0] * unit[1]).sum(axis=1), atol=1e-6)
    objects = [[dataclasses.asdict(entity) for entity in row] for row in entities().predict(TEXTS)]
    assert answers(entities(), "entities") == values(kind, objects)
    words = [text.split() for text in TEXTS]
    assert answers(speech(), "words", "tags") == values(kind, words, speech().predict_tags(words))
    spans = [dataclasses.astuple(answer)[:4] for answer in questions().predict(TEXTS, SECONDS)]
    assert {span[0] for span in spans} >= {"", "hen"}
    expected = values(kind, *zip(*spans, strict=True))
    assert answers(questions(), "answer", "start", "end", "probability", second="other") == expected


@pytest.mark.parametrize("kind", long_but([".jsonl"], KINDS))
def test_each_word_of_a_list_has_a_tag(tmp_path, ask, monkeypatch, kind):
    lists = [["the", "cow", "hen."], ["oak"], ["a cow", "-"], [], ["cow", " "], ["cow", 1], None, ["cow", None]]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"tokens": words}) + "\n" for words in lists))
    out, loaded = tmp_path / f"out{kind}", tmp_path / "model.onnx"
    assert ask(speech(), tmp_path / "rows.jsonl", out, text="tokens", words=True).rows == 4
    monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda place: entities())
    settings = {"model": loaded, "table": str(tmp_path / "rows.jsonl"), "text": "tokens", "out": out}
    result = answer_table(TableRequest(**settings, words=True, beam=BeamOptions(workers=1)))
    assert (result.rows, result.bad, result.columns) == (4, 4, ["words", "tags"])
    words = [*lists[:3], ["cow", "1"]]
    tags = entities().predict_tags(words)
    assert [len(row) for row in tags] == [3, 1, 2, 2]
    assert tags[1] == ["O"]
    assert "B-animal" in tags[0]
    assert [(row["words"], row["tags"]) for row in read(out)] == values(kind, words, tags)
    # Without the option a list is not a text.
    with pytest.raises(
        InputError, match=r"must hold a row that can be answered, got 8 others, the first in .*must be te"
    ):
        answer_table(TableRequest(**settings, beam=BeamOptions(workers=1)))


@pytest.mark.parametrize("kind", long_but([".parquet"], KINDS))
def test_vectors_in_fewer_bytes(tmp_path, ask, monkeypatch, kind):
    table, out = tmp_path / "rows.csv", tmp_path / f"out{kind}"
    table.write_text("\n".join(["text", *TEXTS]) + "\n")
    expected = {"int8": int8_codes(embedding().predict(TEXTS)), "binary": binary_codes(embedding().predict(TEXTS))}
    model = tmp_path / "model.onnx"
    for code, codes in expected.items():
        ask(embedding(), table, out)
        assert [row["vector"] for row in read(out)] != [row["vector"] for row in values_of(kind, codes)]
        # Another vector code does not reuse the earlier answers.
        monkeypatch.setattr("keras_bert.export.bundle.load_exported", lambda place: embedding())
        beam = BeamOptions(workers=1)
        answer_table(TableRequest(model=model, table=str(table), text="text", out=out, vectors=code, beam=beam))
        assert [row["vector"] for row in read(out)] == [row["vector"] for row in values_of(kind, codes)]
        if kind == ".parquet":
            number = pa.int8() if code == "int8" else pa.uint8()
            assert pq.read_table(out).schema.field("vector").type == pa.list_(number, codes.shape[1])


def values_of(kind, codes):
    """Rows of a column `vector`, as `read` gives them."""
    return [{"vector": json.dumps(code) if kind == ".csv" else code} for code in codes.tolist()]


def test_columns_keep_their_types(tmp_path, ask):
    table = pa.table(
        {
            "text": pa.array(TEXTS),
            "n": pa.array(range(5), pa.int8()),
            "at": pa.array([0, 1, 2, 3, None], pa.timestamp("ms", "UTC")),
            "blob": pa.array([b"\xff"] * 5),
            "list": pa.array([[1], [], None, [2, 3], [4]]),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    ask(embedding(), tmp_path / "rows.parquet", tmp_path / "out.parquet")
    result = pq.read_table(tmp_path / "out.parquet")
    assert result.select(table.column_names) == table
    assert result.schema.field("vector").type == pa.list_(pa.float32(), 2)
    with pytest.raises(InputError, match=r"^--out must be a \.parquet file, or the table be without the column 'blob'"):
        ask(embedding(), tmp_path / "rows.parquet", tmp_path / "out.csv")
    assert not work_folder(tmp_path / "out.csv").exists()
    pq.write_table(table.drop(["blob"]), tmp_path / "rows.parquet")
    ask(regression(), tmp_path / "rows.parquet", tmp_path / "out.csv")
    first, last = read(tmp_path / "out.csv")[::4]
    assert (first["at"], first["list"], last["at"]) == ("1970-01-01T00:00:00+00:00", "[1]", "")


def test_json_lines_may_have_different_fields(tmp_path, ask):
    rows = [
        {"text": "cow", "n": 1, "tags": ["a"]},
        {"more": float("nan"), "text": "oak", "n": 0.5, "half": "\ud83d"},
        {"text": 7, "big": 2**70},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.jsonl")
    expected = [{**row, "number": number} for row, number in zip(rows, [1.5, -0.25, 0.0], strict=True)]
    assert read(tmp_path / "out.jsonl") == [{**row, **({"more": None} if "more" in row else {})} for row in expected]
    ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert table["n"] == [1.0, 0.5, None]
    assert table["tags"] == ['["a"]', None, None]
    assert table["text"] == ['"cow"', '"oak"', "7"], "text of several types is JSON"
    assert table["half"] == [None, '"\\ud83d"', None]
    assert table["big"] == [None, None, str(2**70)]


@pytest.mark.parametrize("kind", long_but([".parquet"], KINDS))
def test_keeps_order_of_files_and_chunks(tmp_path, ask, monkeypatch, kind):
    monkeypatch.setattr(cut_table, "CHUNK_ROWS", 256)
    folder = tmp_path / "rows"
    folder.mkdir()
    words = ["cow", "oak", "hen"]
    numbers = iter(range(2000))
    for name in ("b", "a", "c"):
        lines = [f"{next(numbers)},{words[number % 3]}" for number in range(500)]
        (folder / f"{name}.csv").write_text("n,text\n" + "\n".join(lines))
    # Files are in the order of their names, columns in the order of the first file.
    (folder / "d.csv").write_text("text,n\ncow,last\n")
    result = ask(classification(), f"{folder}/*.csv", tmp_path / f"out{kind}")
    assert (result.rows, result.chunks) == (1501, 4)
    rows = read(tmp_path / f"out{kind}")
    assert [row["n"] for row in rows] == [*map(str, [*range(500, 1000), *range(500), *range(1000, 1500)]), "last"]
    assert [row["label"] for row in rows] == [{"oak": "plant"}.get(row["text"], "animal") for row in rows]


def test_files_of_one_table_have_the_same_columns(tmp_path, ask):
    pq.write_table(pa.table({"text": ["cow"], "n": [0.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": pa.nulls(1), "text": pa.array(["oak"])}), tmp_path / "b.parquet")
    out = tmp_path / "out" / "answers.parquet"
    out.parent.mkdir()
    ask(regression(), f"{tmp_path}/*.parquet", out)
    assert [row["n"] for row in read(out)] == [0.5, None]
    pq.write_table(pa.table({"text": ["cow"], "n": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(
        InputError, match=r"b\.parquet must have the types of .*a\.parquet, double in column 'n', got s"
    ):
        ask(regression(), f"{tmp_path}/*.parquet", out)
    pq.write_table(pa.table({"text": ["cow"], "m": [1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet must have the columns of .*, 'text', 'n', got 'text', 'm'$"):
        ask(regression(), f"{tmp_path}/*.parquet", out)
    (tmp_path / "c.csv").write_text("text\ncow\n")
    with pytest.raises(InputError, match=r"^--table must be of files of one kind, got \.csv, \.parquet$"):
        ask(regression(), f"{tmp_path}/[abc].*", out)
    assert [row["n"] for row in read(out)] == [0.5, None], "what was there stays"


def test_bad_rows_go_to_a_side_file(tmp_path, ask):
    (tmp_path / "a.csv").write_bytes(b"text,n\ncow,1\n ,2\nhen\n\xff,4\noak,5\n")
    (tmp_path / "b.csv").write_bytes(b"text,n\n,6\nhen,7\n")
    result = ask(regression(), f"{tmp_path}/?.csv", tmp_path / "out.jsonl")
    assert (result.rows, result.bad) == (3, 4)
    assert [row["n"] for row in read(tmp_path / "out.jsonl")] == ["1", "5", "7"]
    assert read(tmp_path / "out.jsonl.errors.jsonl") == [
        {"row": 2, "file": "a.csv", "place": "line 3", "reason": "field 'text' must not be empty"},
        {"row": 3, "file": "a.csv", "place": "line 4", "reason": "a row must have 2 fields, got 1"},
        {"row": 4, "file": "a.csv", "place": "line 5", "reason": "bytes that are not UTF-8 at offset 21"},
        {"row": 6, "file": "b.csv", "place": "line 2", "reason": "field 'text' must not be empty"},
    ]
    # The side file of an earlier run must not stay.
    (tmp_path / "a.csv").write_text("text,n\ncow,1\n")
    assert ask(regression(), tmp_path / "a.csv", tmp_path / "out.jsonl").bad == 0
    assert not (tmp_path / "out.jsonl.errors.jsonl").exists()


def test_the_side_file_belongs_to_one_output(tmp_path, ask):
    (tmp_path / "bad.csv").write_text("text\ncow\n \n")
    (tmp_path / "good.csv").write_text("text\ncow\n")
    (tmp_path / "out.errors.jsonl").write_text("not of this program")
    assert ask(regression(), tmp_path / "bad.csv", tmp_path / "out.parquet").bad == 1
    assert ask(regression(), tmp_path / "good.csv", tmp_path / "out.csv").bad == 0
    assert len(read(tmp_path / "out.parquet.errors.jsonl")) == 1
    assert (tmp_path / "out.errors.jsonl").read_text() == "not of this program"


CELLS = ["a\rb", "a\r\nb", 'a"b', "a,b", " a ", "=1+1", "'=1+1", "@you hi", "-1.5", "+", "\ufeff"]


def test_cells_round_trip_and_csv_has_no_formulas(tmp_path, ask):
    with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("text", "=n"), *(("cow", cell) for cell in CELLS)])
    for kind in KINDS:
        assert ask(regression(), tmp_path / "rows.csv", tmp_path / f"out{kind}").rows == len(CELLS)
    expected = ["'=1+1", "''=1+1", "'@you hi"]
    assert [row["'=n"] for row in read(tmp_path / "out.csv")] == [*CELLS[:5], *expected, *CELLS[8:]]
    for kind in (".jsonl", ".parquet"):
        assert [row["=n"] for row in read(tmp_path / f"out{kind}")] == CELLS


@pytest.mark.parametrize(
    ("column", "refused"),
    [
        (pa.array([None, 1], pa.timestamp("ns")), ".csv .jsonl"),
        (pa.array([None, 1], pa.time64("ns")), ".csv .jsonl"),
        (pa.array([None, 2**40], pa.timestamp("s")), ".csv .jsonl"),
        (pa.array([None, 10**7], pa.date32()), ".csv .jsonl"),
        (pa.array([None, 1], pa.timestamp("us", "Mars/Base")), ".csv .jsonl"),
        (pa.array([[], [b"a"]]), ".csv .jsonl"),
        (pa.array([None, pa.MonthDayNano([1, 2, 3])]), ".parquet"),
        (pa.array([{}, {}], pa.struct([])), ".parquet"),
    ],
)
def test_refuses_columns_that_the_output_format_cannot_hold(tmp_path, ask, column, refused):
    table = pa.table({"text": ["cow", "oak"], "x": column})
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as writer:
        writer.write_table(table)
    for kind in KINDS:
        out = tmp_path / f"out{kind}"
        if kind not in refused:
            assert ask(regression(), tmp_path / "rows.arrow", out).rows == 2
            continue
        with pytest.raises(InputError) as error:
            ask(regression(), tmp_path / "rows.arrow", out)
        other = ".jsonl" if kind == ".parquet" else ".parquet"
        assert str(error.value).startswith(
            f"--out must be a {other} file, or the table be without the column 'x', as a {kind} file cannot hold "
        )
        assert not work_folder(out).exists()


@pytest.mark.parametrize("kind", long_but([".jsonl"], KINDS))
def test_columns_that_change_type(tmp_path, ask, kind):
    number, texts = uuid.UUID(int=7), pa.array(["cow", "oak", " "], pa.string_view())
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    table = pa.table({"text": texts, "id": pa.array([number.bytes] * 3, pa.uuid()), "x": runs})
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert ask(regression(), tmp_path / "rows.arrow", tmp_path / f"out{kind}").bad == 1
    rows = [(row["text"], str(row["id"]), row["x"]) for row in read(tmp_path / f"out{kind}")]
    assert rows == [("cow", str(number), "a"), ("oak", str(number), "a")]


def test_escapes_negative_durations_in_csv(tmp_path, ask):
    table = pa.table({"text": ["cow", "oak"], "x": pa.array([-1, 3600], pa.duration("s"))})
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as writer:
        writer.write_table(table)
    ask(regression(), tmp_path / "rows.arrow", tmp_path / "out.csv")
    assert [row["x"] for row in read(tmp_path / "out.csv")] == ["'-1 day, 23:59:59", "1:00:00"]


def test_lone_surrogates(tmp_path, ask):
    (tmp_path / "rows.jsonl").write_text('{"text": "cow", "half": "\\ud83d"}\n{"text": "\\ud83d"}\n')
    assert ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.csv").bad == 1
    assert [row["half"] for row in read(tmp_path / "out.csv")] == ['"\\ud83d"']
    (tmp_path / "rows.jsonl").write_text('{"text": "cow", "\\ud83d": 1}\n')
    for kind in (".csv", ".parquet"):
        with pytest.raises(InputError, match=r"^--out must be a \.jsonl file, as field '\\ud83d' of the table is not "):
            ask(regression(), tmp_path / "rows.jsonl", tmp_path / f"out{kind}")
    ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl") == [{"text": "cow", "\ud83d": 1, "number": 1.5}]


def test_field_missing_from_the_first_rows(tmp_path, ask):
    late = '{"other": 1}\n' * 300
    (tmp_path / "rows.jsonl").write_text(late + '{"text": "cow"}\n')
    result = ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.jsonl")
    assert (result.rows, result.bad) == (1, 300)
    assert read(tmp_path / "out.jsonl.errors.jsonl")[299]["reason"] == "field 'text' must be there, got none"
    (tmp_path / "rows.jsonl").write_text(late + '{"texts": "cow"}\n')
    with pytest.raises(InputError, match=r"rows\.jsonl has no column 'text'; did you mean 'texts'\?$"):
        ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.jsonl")


def test_too_deeply_nested_line_is_a_bad_row(tmp_path, ask):
    deep = [f'{{"text": "cow", "x": {"[" * levels}{"]" * levels}}}\n' for levels in (99, 100, 600)]
    (tmp_path / "rows.jsonl").write_text("".join(deep))
    assert ask(regression(), tmp_path / "rows.jsonl", tmp_path / "out.jsonl").rows == 1
    reasons = {row["reason"] for row in read(tmp_path / "out.jsonl.errors.jsonl")}
    assert reasons == {"the line must have at most 100 lists and objects inside each other, got more"}


def test_counts_truncated_and_empty_texts(tmp_path, ask):
    rows = [["cow " * 5, "the"], ["cow " * 2, "\u200b"], ["\u200b", "oak " * 2]]
    (tmp_path / "a.csv").write_text("text,other\n" + "".join(",".join(row) + "\n" for row in rows))
    single = ask(classification(max_length=6), tmp_path / "a.csv", tmp_path / "out.csv")
    assert (single.empty, single.cut) == (1, 1)
    pairs = ask(classification(max_length=8), tmp_path / "a.csv", tmp_path / "out.csv", second="other")
    assert (pairs.empty, pairs.cut) == (2, 1)


class _Killed(BaseException):
    """Acts like a kill: no code handles it."""


def test_stopped_run_resumes_with_the_same_bytes(tmp_path, ask, monkeypatch):
    monkeypatch.setattr(cut_table, "CHUNK_ROWS", 256)
    table, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    table.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS * 300) + ",\n")
    ask(classification(), table, out)
    whole = out.read_bytes()
    out.unlink()
    (tmp_path / "out.parquet.errors.jsonl").unlink()
    write = PartWriter.write

    def write_two(writer, answers):
        if len(list(writer.file(0).parent.glob("[0-9]*.arrow"))) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(writer, answers)

    def parts():
        return {part.name: part.stat().st_ino for part in (work_folder(out) / "parts").glob("*.arrow")}

    def stop_after_two_parts():
        with monkeypatch.context() as patch:
            patch.setattr(PartWriter, "write", write_two)
            with pytest.raises(Exception, match="No space left on device"):
                ask(classification(), table, out)

    def kill(*_):
        raise _Killed

    stop_after_two_parts()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.parquet.work", "a.csv", "model.onnx"]
    first = parts()
    assert len(first) == 2
    with monkeypatch.context() as patch:
        patch.setattr("components.answers.answer_table.join_parts", kill)
        with pytest.raises(_Killed):
            ask(classification(), table, out)
    assert len(parts()) == 6
    assert first.items() <= parts().items(), "no chunk twice"
    result = ask(classification(), table, out)
    assert (result.resumed, result.chunks, result.bad) == (6, 6, 1)
    assert out.read_bytes() == whole
    assert len(read(tmp_path / "out.parquet.errors.jsonl")) == 1
    assert not work_folder(out).exists()
    # Parts of another table are not reused.
    stop_after_two_parts()
    table.write_text("text\n" + "oak\n" * 600)
    assert ask(classification(), table, out).resumed == 0
    assert {row["label"] for row in read(out)} == {"plant"}


HOLD = """
import sys
from pathlib import Path
from components.answers.work_folder import locked_folder

with locked_folder(Path(sys.argv[1]), {"a": 1}):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_refuses_output_of_another_running_command(tmp_path, ask):
    (tmp_path / "a.csv").write_text("text\ncow\n")
    command = [sys.executable, "-c", HOLD, str(tmp_path / "out.csv")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match=rf"^--out must be free, got {tmp_path}/out.csv: another run is writing"):
            ask(classification(), tmp_path / "a.csv", tmp_path / "out.csv")
        assert ask(classification(), tmp_path / "a.csv", tmp_path / "out.jsonl").rows == 1
        # A lock ends with its process, even if the process is killed.
        holder.kill()
    assert ask(classification(), tmp_path / "a.csv", tmp_path / "out.csv").rows == 1


@pytest.fixture
def table(tmp_path):
    (tmp_path / "rows").mkdir()
    file = tmp_path / "rows" / "a.csv"
    file.write_text("review,other\nthe cow,the\n")
    yield file
    # A refused table leaves no files.
    assert [path.name for path in file.parent.iterdir()] == ["a.csv"]
    assert {path.name for path in tmp_path.iterdir()} <= {"rows", "model.onnx", "empty.csv", "blank.csv", "none"}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"text": "reviews"}, "the table {table} has no column 'reviews'; did you mean 'review'?"),
        ({"text": "review", "second": "x"}, "the table {table} has no column 'x'; known: other, review"),
        ({"out": "{folder}/out.txt"}, "--out must end in .parquet, .csv, .jsonl, got {folder}/out.txt"),
        ({"out": "{table}"}, "--out must be no file of --table, nor its .errors.jsonl one, got {table}"),
        ({"table": "{folder}/rows", "out": "{folder}/rows/b.csv"}, "--out must lie outside of the folder of --table"),
        ({"out": "{folder}/no/out.csv"}, "--out must be in a folder that exists, got {folder}/no/out.csv"),
        ({"table": "{folder}/*.parquet"}, "--table must be a pattern that matches a file, got {folder}/*.parquet"),
        ({"table": "{folder}/b.csv"}, "--table must be a file or a folder that exists, got {folder}/b.csv"),
        ({"table": "{folder}/none"}, "--table must hold .jsonl, "),
        ({"table": "{folder}/model.onnx"}, "--table must be of .jsonl, "),
        ({"table": "{folder}/empty.csv"}, "the table {folder}/empty.csv must hold at least one row, got none"),
        (
            {"table": "{folder}/blank.csv"},
            "the table {folder}/blank.csv must hold a row that can be answered, got 2 others, the first in blank.csv "
            "line 2: field 'review' must not be empty",
        ),
    ],
)
def test_refuses_incompatible_options(tmp_path, table, ask, request_, message):
    (tmp_path / "empty.csv").write_text("review,n\n")
    (tmp_path / "blank.csv").write_text("review,n\n,1\n,2\n")
    (tmp_path / "none").mkdir()
    names = {"folder": str(tmp_path), "table": str(table)}
    settings = {"table": "{table}", "out": "{folder}/out.csv", "text": "review", **request_}
    filled = {name: value.format(**names) for name, value in settings.items()}
    filled["out"] = Path(filled["out"])
    with pytest.raises(InputError) as error:
        ask(classification(), **filled)
    assert str(error.value).startswith(message.format(**names))
    assert "\n" not in str(error.value)


def test_a_folder_that_cannot_be_written(tmp_path):
    from tests import unprivileged

    (tmp_path / "closed").mkdir()
    os.chmod(tmp_path / "closed", 0o500)

    def refused():
        with pytest.raises(InputError, match=r"must be in a folder that can be written, got .*: Permission denied$"):
            locked_folder(tmp_path / "closed" / "out.csv", {}).__enter__()
        return 0

    assert unprivileged.run(refused) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="no folder of Linux's kernel")
def test_a_folder_that_takes_no_folder():
    with pytest.raises(InputError, match=r"^--out must be in a folder that can be written, .*: No such file"):
        locked_folder(Path("/proc/out.csv"), {}).__enter__()


@pytest.mark.parametrize(
    ("model", "read"),
    [
        ("1/saved_model.pb", "1/variables/variables.index 1/assets/vocab.txt 1/assets.extra/task.json 1/task.json"),
        ("1/server/model/1/model.onnx", "1/task.json 1/metrics.json 1/vocab.txt 1/tokenizer.json"),
        ("1/a.mlpackage/Data/com.apple.CoreML/model.mlmodel", "1/task.json weights/weight.bin"),
        ("1", "1/model.onnx 1/task.json 1/server/model/1/model.onnx"),
    ],
)
def test_every_file_that_a_model_is_loaded_from_is_in_the_key_of_finished_parts(tmp_path, model, read):
    place = tmp_path / model
    files = [place.parent / name if name.startswith("weights") else tmp_path / name for name in read.split()]
    for file in (*files, *([place] if place.suffix else [])):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("old")
    request = TableRequest(model=place, table="a.csv", text="text", out=tmp_path / "out.csv")
    keys = [digest_request(request, [])]
    for file in files:
        file.write_text("changed")
        keys.append(digest_request(request, []))
        assert keys[-1] != keys[-2], file
