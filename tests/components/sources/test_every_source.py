"""What is asked of the source of every task alike: its rows follow its files, and errors name the file and the rule."""

import dataclasses
import json
import pickle
from typing import Any, NamedTuple

import pytest

from components.dsl.errors import InputError
from components.sources.registry import TASK_SOURCES
from keras_bert.options.data import Prompts


class Sample(NamedTuple):
    """A file of rows, the same with another row, and settings that each change what rows are."""

    name: str
    content: str
    changed: str
    settings: dict[str, Any]
    others: list[dict[str, Any]]


PAIRS = "text\tother\tlabel\na\tb\t1\nc\td\t2\n"
QUERIES = "query\tpassage\tother\na\tb\tc\n"
QUESTION = {"id": "q", "question": "Who?", "context": "Ann ran.", "answers": {"text": ["Ann"], "answer_start": [0]}}
SAMPLES = {
    "classification": Sample(
        "a.csv",
        *("text,label,other\na,x,1\nb,y,0\n", "text,label,other\na,x,1\nc,y,0\n", {}),
        others=[{"label": "other"}, {"second_text": "other"}],
    ),
    "regression": Sample("a.tsv", PAIRS, PAIRS.replace("c", "x"), {}, others=[{"second_text": "other"}]),
    "embedding": Sample(
        "a.tsv", PAIRS, PAIRS.replace("d\t2", "d\t1"), {"second_text": "other", "scale": 5.0}, others=[{"scale": 10.0}]
    ),
    "reranking": Sample("a.tsv", PAIRS, PAIRS.replace("d", "e"), {"second_text": "other"}, others=[]),
    "multi_label": Sample(
        "a.csv",
        *('text,label\na,"x,y"\nb,y\n', 'text,label\na,"x,y"\nc,y\n', {}),
        others=[{"label_precision": 0.9}, {"separator": ";"}],
    ),
    "token_classification": Sample("a.conll", "a B-X\nb O\n", "a B-X\nc O\n", {}, others=[{"tags": "words2"}]),
    "question_answering": Sample(
        "a.jsonl",
        *(json.dumps(QUESTION), json.dumps({**QUESTION, "question": "Who ran?"}), {}),
        others=[],
    ),
    "retrieval": Sample(
        "a.tsv",
        *(QUERIES, QUERIES.replace("b", "d"), {}),
        others=[
            {"passage": "other"},
            {"negatives": ("other",)},
            {"prompts": Prompts(query="query: ")},
            {"near_overlap": "drop"},
        ],
    ),
}


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return str(folder / name)


def make_source(task, file, **settings):
    has_tasks = len([source for source in TASK_SOURCES.values() if source is TASK_SOURCES[task]]) > 1
    return TASK_SOURCES[task](file, **settings, **({"task": task} if has_tasks else {}))


@pytest.mark.parametrize("task", SAMPLES)
def test_the_fingerprint_follows_content_and_settings_and_not_the_place(task, tmp_path):
    sample = SAMPLES[task]
    file, copy = (write(tmp_path / folder, sample.name, sample.content) for folder in ("first", "second"))
    source, other = (make_source(task, path, **sample.settings) for path in (file, copy))
    before = source.fingerprint()
    assert other.fingerprint() == before
    changes = [*sample.others, {"test": copy}]
    prints = {dataclasses.replace(source, **change).fingerprint() for change in changes}
    write(tmp_path / "second", sample.name, sample.changed)
    assert len(prints | {before, other.fingerprint()}) == len(changes) + 2


def test_tasks_have_fingerprints_of_their_own(tmp_path):
    file = write(tmp_path, "a.tsv", PAIRS)
    assert len({make_source(task, file, second_text="other").fingerprint() for task in list(SAMPLES)[:4]}) == 4


@pytest.mark.parametrize("task", SAMPLES)
def test_rows_are_remembered_until_a_file_changes(task, tmp_path, opened):
    sample = SAMPLES[task]
    file = write(tmp_path, sample.name, sample.content)
    source = make_source(task, file, **sample.settings)
    source.check()
    before = source.splits()
    source.splits()["train"].clear()
    pickled = pickle.loads(pickle.dumps(source))
    assert pickled == source
    assert source.splits() == pickled.splits() == before
    assert opened == [file]
    write(tmp_path, sample.name, sample.changed)
    assert source.splits() == pickled.splits() == make_source(task, file, **sample.settings).splits() != before


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def squad(*entries):
    return json.dumps({"data": [{"paragraphs": [{"context": "Ann ran.", "qas": [*entries]}]}]})


NOBODY = {"question": "Who?", "is_impossible": True, "answers": []}
HEADER = "query\tpassage\tn\n"
NEGATIVES = {"negatives": ("n",)}
FLAGS = {"label_columns": ("x", "y")}
LISTS = "must hold the names of labels, got"
REFUSED = {
    "classification": [
        ("a.tsv", "sentence\tlabel\na\t0\n", {}, r"has no column 'text'; known: label, sentence"),
        ("a.tsv", "texts\tlabel\na\t0\n", {}, r"has no column 'text'; did you mean 'texts'\?"),
        ("a.tsv", "text\tlabel\n", {}, r"must hold at least one row, got none"),
        ("a.tsv", "text\tlabel\n \t1\n", {}, r"a\.tsv line 2: column 'text' must not be empty"),
        ("a.tsv", "text\tlabel\na\t1\n", {}, r"must hold at least 2 labels, got only \['1'\]"),
        ("a.csv", 'text,label\n"a"b,1\n', {}, r"a\.csv line 2 must be valid csv"),
        ("a.xml", "<a/>", {}, r"must be \.jsonl, \.ndjson, \.csv, \.tsv, \.parquet, \.arrow, got .*a\.xml"),
    ],
    "multi_label": [
        ("a.csv", "text,label\na,x\nb,y\n", {}, "separator must stand in column 'label' of .*, got ',', which is in "),
        ("a.csv", "text,label\na,x;y\nb,y\n", {}, "in none of 2 cells; name the separator, or set examples"),
        ("a.csv", "text,label\na,x;;y\n", {"separator": ";"}, "line 2: .* label must not be empty, got ''"),
        ("a.csv", "text,label\na,\"['x', 'y']\"\n", {}, "column 'label' must hold labels with ',' between them, got "),
        ("a.csv", 'text,label\n ,"x,y"\n', {}, "line 2: column 'text' must not be empty"),
        ("a.csv", 'text,labels\na,"x,y"\n', {}, "has no column 'label'; did you mean 'labels'"),
        ("a.csv", 'text,label\na,"x,x"\n', {}, r"must hold at least 2 labels, got only \['x'\]"),
        ("a.csv", "text,x,y\na,1,0\nb,0,2\n", FLAGS, "line 3: column 'y' must be 0 or 1, got '2'; write 1"),
        ("a.csv", "text,x,y\na,1,\n", FLAGS, "line 2: column 'y' must be 0 or 1, got ''"),
        ("a.csv", "text,x,y\na,1,0.5\n", FLAGS, "column 'y' must be 0 or 1, got '0.5'"),
        ("a.csv", "text,x,y\na,1,0\nb,1,0\n", FLAGS, "column 'y' of .* must be 1 somewhere, got 0 in all rows"),
        ("a.jsonl", '{"text": "a", "label": null}', {}, "line 1: .* must be a list or text, got None; write an empty"),
        ("a.jsonl", '{"text": "a", "label": ["x", null]}', {}, "field 'label' must be text, got None"),
        ("a.jsonl", '{"text": "a", "label": [1, 0.5]}', {}, rf"{LISTS} the numbers 1, 0.5; set examples\.prob"),
    ],
    "token_classification": [
        ("a.jsonl", '{"words": ["a", "b"], "tags": ["O", "NN"]}', {}, r"line 1, word 2: the tag must be O, or B-"),
        ("a.jsonl", '{"words": ["a"], "labels": ["O"]}', {}, r"line 1 has no field 'tags'"),
        ("a.txt", "\n \n", {}, r"a\.txt must hold at least one sentence, got none"),
        ("a.txt", "a O\n", {}, r"a\.txt must hold at least 2 labels, got only \['O'\]"),
        ("a.txt", "a", {}, r"line 1 must have at least 2 columns"),
    ],
    "question_answering": [
        ("a.jsonl", "", {}, r"a\.jsonl must hold at least one question, got none"),
        ("a.jsonl", lines(QUESTION, QUESTION), {}, r"the ids of .*a\.jsonl must differ, got 'q' 2 times"),
        ("a.jsonl", '{"id": "q", "question": "?", "context": "c"}', {}, r"a\.jsonl line 1 has no field 'answers'"),
        ("a.json", squad({"id": "1", **NOBODY}, {"id": "2", **NOBODY}), {}, "an answer to learn from, got none in 2"),
        ("a.json", "[1", {}, r"a\.json must be a JSON object, got an error: Expecting ',' delimiter"),
        ("a.json", "[1]", {}, r"be a JSON object as SQuAD's, got a list of 1; write rows to a \.jsonl file"),
        ("a.json", '{"dat": []}', {}, r"a\.json has no field 'data'; did you mean 'dat'\?"),
        ("a.json", '{"data": [{"paragraphs": 4}]}', {}, r"data\[0\]: field 'paragraphs' must be a list, got 4"),
        ("a.json", '{"data": [{"paragraphs": [{"qas": []}]}]}', {}, r"\.paragraphs\[0\] has no field 'context'"),
    ],
    "retrieval": [
        ("a.tsv", HEADER, NEGATIVES, r"the table .*a\.tsv must hold at least one row, got none$"),
        ("a.tsv", f"{HEADER}one\t \tX\n", NEGATIVES, r"a\.tsv line 2: column 'passage' must not be empty$"),
        ("a.tsv", "query\tpassages\tn\none\tA\tX\n", NEGATIVES, r"no column 'passage'; did you mean 'passages'\?$"),
        ("a.tsv", f"{HEADER}one\tA\tA\n", NEGATIVES, r"line 2: the negative 'A' must be no passage of its query"),
        # As a whole, not row by row.
        ("a.tsv", f"{HEADER}one\tA\tB\none\tB\tC\n", NEGATIVES, r"line 3: the negative 'B' must be no passage of "),
        ("a.jsonl", lines({"query": "one", "passage": [], "n": "X"}), NEGATIVES, "line 1: .* must not be empty$"),
        ("a.jsonl", lines({"query": "one", "passage": "A", "n": None}), NEGATIVES, "'n' must be text, got None; fill"),
        ("a.jsonl", lines({"query": ["a", "b"], "passage": "A"}), {}, r"column 'query' must hold one query, got 2$"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("task", "name", "content", "settings", "message"),
    [(task, *row) for task, rows in REFUSED.items() for row in rows],
)
def test_every_refusal_is_one_line_with_file_and_rule(task, name, content, settings, message, tmp_path):
    with pytest.raises(InputError, match=message) as error:
        make_source(task, write(tmp_path, name, content), **settings).check()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("task", ["classification", "multi_label", "token_classification"])
def test_labels_that_training_never_saw_and_labels_of_several_lines_are_refused(task, tmp_path):
    kind = {"token_classification": ("words", "tags", lambda label: ["O", f"B-{label}"])}
    text, column, make = kind.get(task, ("text", "label", lambda label: [label] if task == "multi_label" else label))
    texts = ["a", "b"] if text == "words" else "a"
    rows = {label: {text: texts, column: make(label)} for label in ("film", "art", "arts", "b\nad")}
    train = write(tmp_path, "a.jsonl", lines(rows["film"], rows["art"]))
    other = write(tmp_path, "b.jsonl", lines(rows["film"], rows["arts"]))
    prefix = "B-" if text == "words" else ""
    with pytest.raises(InputError) as error:
        make_source(task, train, test=other).check()
    assert str(error.value) == (
        f"test has the label '{prefix}arts', which training never saw; did you mean '{prefix}art'?"
    )
    odd = write(tmp_path, "c.jsonl", lines(rows["film"], rows["b\nad"]))
    rule = f"must hold no line feed, carriage return or NUL, got '{prefix}b\\nad'; rename it in the data"
    with pytest.raises(InputError) as error:
        make_source(task, odd).splits()
    assert str(error.value).startswith(f"{odd} line 2")
    assert str(error.value).endswith(rule)
