import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.dsl.errors import InputError
from components.files.tables import Record
from components.sources.questions import Question, QuestionSource, as_fields, parse_question, read_squad

CONTEXT = "Ann met Bob in é Rome."
ENTRY = {"id": "q1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
QUESTION = {"id": "q", "question": "Who?", "context": "Ann ran.", "answers": {"text": ["Ann"], "answer_start": [0]}}


def squad(folder, *entries, context=CONTEXT, **changes):
    paragraphs = [{"context": context, "qas": [{**ENTRY, **entry} for entry in entries]}]
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs, **changes}]}
    (folder / "a.json").write_text(json.dumps(content))
    return str(folder / "a.json")


def test_both_versions(tmp_path):
    answers = [{"text": "Rome", "answer_start": 17}, {"text": "é Rome.", "answer_start": 15}]
    plausible = [{"text": "Bob", "answer_start": 8}]
    nobody = {"id": "q3", "is_impossible": True, "answers": [], "plausible_answers": plausible}
    file = squad(tmp_path, {}, {"id": "q2", "question": "Where?", "answers": answers}, nobody)
    assert list(read_squad(file)) == [
        Question("q1", "Who?", CONTEXT, (("Ann", 0),)),
        Question("q2", "Where?", CONTEXT, (("Rome", 17), ("é Rome.", 15))),
        Question("q3", "Who?", CONTEXT, ()),
    ]


def test_a_question_as_a_row_and_back():
    question = Question("q", "Where?", CONTEXT, (("Rome", 17), ("é", 15)))
    fields = as_fields(question)
    assert fields["answers"] == {"text": ["Rome", "é"], "answer_start": [17, 15]}
    assert parse_question(Record("f", "line 1", tuple(fields.values()), None)) == question
    as_json = (*list(fields.values())[:3], json.dumps(fields["answers"]))
    assert parse_question(Record("f", "line 1", as_json, None)) == question


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"answers": [{"text": "Bob", "answer_start": 14}]},
            r"'Bob' must stand in the context at 14, got ' é '",
        ),
        ({"answers": [{"text": "Ann", "answer_start": -22}]}, r"'Ann' must stand in the context at -22, got ''"),
        ({"answers": [{"text": "", "answer_start": 3}]}, r"the answer '' must stand in the context"),
        ({"answers": [{"text": "Ann", "answer_start": "0"}]}, r"answer_start must be a whole number, got '0'"),
        ({"answers": [{"text": "Ann", "start": 0}]}, r"has no field 'answer_start'; known: start, text"),
        ({"answers": "Ann"}, r"field 'answers' must be a list, got Ann"),
        ({"is_impossible": True}, r"must have no answers as it is_impossible, got 1"),
        ({"question": " "}, r"field 'question' must not be empty"),
        ({"question": None}, r"field 'question' must be text, got None"),
        ({"answers": [3]}, r"must be a JSON object, got 3"),
    ],
)
def test_malformed_questions(tmp_path, entry, message):
    with pytest.raises(InputError, match=rf"a\.json data\[0\]\.paragraphs\[0\]\.qas\[1\] \(id 'q1'\).*{message}"):
        list(read_squad(squad(tmp_path, {"id": "q0"}, entry)))


def test_moves_answers_that_stand_near_and_lists_the_others(tmp_path):
    starts = {"near": CONTEXT.index("Rome") + 1, "right": 0, "far": 0, "farther": 2}
    rows = [
        {
            **QUESTION,
            "id": id_,
            "context": CONTEXT,
            "answers": {"text": ["Rome" if start else "Ann"], "answer_start": [start]},
        }
        for id_, start in starts.items()
    ]
    rows[2]["answers"]["text"] = ["Rome"]
    source = QuestionSource(write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows[:2])))
    splits = source.splits()
    assert splits["train"][0].answers == (("Rome", CONTEXT.index("Rome")),)
    assert source.describe(splits) == [
        "1 answers of train rows stood up to 3 characters from their answer_start and were moved there"
    ]
    file = write(tmp_path, "b.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        InputError, match=r"^[^;]*\(id 'far'\): the answer 'Rome'.*; .*\(id 'farther'\): the answer 'Rome'"
    ):
        QuestionSource(file).check()


def test_a_row_whose_answers_do_not_match():
    values = ("q", "Who?", CONTEXT, {"text": ["Ann"], "answer_start": []})
    with pytest.raises(InputError, match=r"\(id 'q'\): answers must have as many text as answer_start, got 1 and 0"):
        parse_question(Record("f", "row 4", values, None))


def write(folder, name, content):
    (folder / name).write_text(content)
    return str(folder / name)


def test_questions_of_both_formats(tmp_path):
    row = write(tmp_path, "a.jsonl", json.dumps(QUESTION))
    pq.write_table(pa.Table.from_pylist([QUESTION]), tmp_path / "b.parquet")
    entry = {"id": "q", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    paragraph = {"context": "Ann ran.", "qas": [entry]}
    squad = write(tmp_path, "c.json", json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    source = QuestionSource(row, str(tmp_path / "b.parquet"), squad)
    source.check()
    expected = [Question("q", "Who?", "Ann ran.", (("Ann", 0),))]
    assert source.splits() == {"train": expected, "validation": expected, "test": expected}
