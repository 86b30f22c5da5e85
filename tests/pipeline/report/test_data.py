"""Data in tables, histograms and examples."""

import pytest

from pipeline.report.data import Bars, RowToken, Sample, read_data
from pipeline.report.record import read_record
from tests.pipeline.report.made_up import FEATURES, ROWS, SCRIPT, Root, job, node


def blocks(folder):
    return {block.step: block for block in read_data(read_record(folder))}


def labelled(folder, rows, **features):
    files = {"examples": {"features.json": {**FEATURES, **features}, "train.jsonl.gz": rows}}
    Root(folder).run(node("ingest_examples", makes={"examples": "TaskExamples"}, files=files))
    return blocks(folder)["ingest_examples"]


def test_documents_and_what_was_dropped(tmp_path):
    job(Root(tmp_path))
    block = blocks(tmp_path)["ingest_corpus"]
    assert block.tables["documents"] == {"in the source": "12", "kept": "10", "dropped": "2"}
    assert block.tables["bytes a document"] == {"median": "1,200"}
    assert block.samples == [Sample([("too short 4 bytes", f"hm {SCRIPT}")], [], [])]


def test_rows_for_pre_training_with_the_tokens_to_predict(tmp_path):
    job(Root(tmp_path))
    block = blocks(tmp_path)["mask_examples"]
    assert block.histograms == [[Bars("train: tokens a row", [("4", "2", 1.0)])]]
    assert block.samples[0].tokens == [
        RowToken("[CLS]", None, is_special=True),
        RowToken("the", None, is_special=False),
        RowToken("[MASK]", "ship", is_special=False),
        RowToken("[SEP]", None, is_special=True),
    ]


def test_histograms_of_train_and_validation_stand_beside_each_other(tmp_path):
    titles = [
        f"{split}, up to {length}: {name}" for split in ("train", "validation") for length in (16, 32) for name in "ab"
    ]
    files = {"examples": {"statistics.json": {title: [["4", 2]] for title in titles}}}
    Root(tmp_path).run(node("mask_examples", makes={"examples": "PretrainingExamples"}, files=files))
    groups = blocks(tmp_path)["mask_examples"].histograms
    assert [[histogram.title for histogram in group] for group in groups] == [
        [f"{split}, up to {length}: {name}" for split in ("train", "validation")]
        for length in (16, 32)
        for name in "ab"
    ]


def test_the_schema_of_labelled_rows(tmp_path):
    schema = {"scripts": {"Latin": 0.995, "Greek": 0.005}, "unknown": 0.01, "longer": 0.5, "max_length": 16}
    schema |= {"length_edges": [3, 4], "lengths": [1000, 1, 0]}
    files = {"examples": {"features.json": FEATURES, "schema.json": schema, "train.jsonl.gz": ROWS}}
    Root(tmp_path).run(node("ingest_examples", makes={"examples": "TaskExamples"}, files=files))
    tables = blocks(tmp_path)["ingest_examples"].tables
    assert tables["schema (schema.json), training rows"] == {
        "letters in Latin": "99.50 %",
        "letters in Greek": "0.50 %",
        "unknown tokens": "1.00 %",
        "rows above 16 tokens": "50.00 %",
    }
    lengths = {"up to 3 tokens": "1,000", "up to 4 tokens": "1", "above 4 tokens": "0"}
    assert tables["schema, lengths of a sample"] == lengths


def test_labelled_rows(tmp_path):
    block = labelled(tmp_path, ROWS)
    assert block.title == "Labelled rows, classification"
    assert block.tables == {
        "rows": {"train": "3", "validation": "2", "test": "4"},
        "cut at 16 tokens": {"train": "50.00 %", "test": "0.00 %"},
    }
    assert block.histograms == [
        [
            Bars("labels, train", [("farm", "2", 1.0), ("sea", "1", 0.5)]),
            Bars("labels, test", [("farm", "2", 1.0), ("sea", "2", 1.0)]),
        ],
        # `the ship <script>alert('it')</script>`, `a cow` and `one old barn`.
        [Bars("words a row, train", [("2", "1", 0.5), ("3", "2", 1.0)])],
    ]
    assert block.samples[1] == Sample([("text", "a cow"), ("label", "farm")], [], [])


def test_of_many_labels_the_commonest_are_shown(tmp_path):
    counts = {f"label {number:02d}": number for number in range(30)}
    bars = labelled(tmp_path, ROWS, labels={"train": counts}).histograms[0][0]
    assert bars.title == "labels, train, the most frequent 20 of 30"
    assert [label for label, _, _ in bars.bars] == [f"label {number}" for number in range(10, 30)]


@pytest.mark.parametrize(
    ("row", "sample"),
    [
        ({"words": ["a", "cow"], "tags": ["O", "B-animal"]}, Sample([], [], [("a", "O"), ("cow", "B-animal")])),
        (
            {
                "id": "1",
                "question": "who ?",
                "context": "a cow",
                "answers": {"text": ["cow", "cow"], "answer_start": []},
            },
            Sample([("question", "who ?"), ("context", "a cow"), ("answer", "cow")], [], []),
        ),
        (
            {"id": "1", "question": "who ?", "context": "a cow", "answers": {"text": [], "answer_start": []}},
            Sample([("question", "who ?"), ("context", "a cow"), ("answer", "(none)")], [], []),
        ),
        (
            {"text": "a", "label": "0.5", "second_text": "b"},
            Sample([("text", "a"), ("label", "0.5"), ("second text", "b")], [], []),
        ),
        (
            {"query": "a", "passages": ["b"], "negatives": ["c"], "teacher": [[2.5, -1.0], False]},
            Sample([("query", "a"), ("passages", "b"), ("negatives", "c"), ("teacher", "2.5, -1")], [], []),
        ),
    ],
)
def test_examples_of_every_task(tmp_path, row, sample):
    block = labelled(tmp_path, [row], labels={})
    assert block.samples == [sample]
    assert len(block.histograms) == 1


def test_rows_of_text(tmp_path):
    files = {"texts": {"features.json": {"counts": {"train": 1000, "validation": 10}}}}
    Root(tmp_path).run(node("ingest_texts", makes={"texts": "TextExamples"}, files=files))
    assert blocks(tmp_path)["ingest_texts"].tables == {"rows": {"train": "1,000", "validation": "10"}}


def test_questions_that_were_left_out_are_counted(tmp_path):
    tables = labelled(tmp_path, ROWS, left_out={"test": 0, "train": 3}).tables
    assert tables["questions whose answer stands whole in no window"] == {"train": "3", "test": "0"}


def test_the_same_rows_in_other_pieces_are_told_once(tmp_path):
    root, makes = Root(tmp_path), {"examples": "TaskExamples"}
    steps = []
    for name, share in (("ingest_examples-whole", 0.5), ("ingest_examples", 0.75)):
        features = {**FEATURES, "truncated_share": {"train": share}}
        steps.append(node(name, makes=makes, files={"examples": {"features.json": features, "train.jsonl.gz": ROWS}}))
    other = {"examples": {"features.json": FEATURES, "train.jsonl.gz": ROWS[:2]}}
    root.run(*steps, node("ingest_examples-other", makes=makes, files=other))
    both, alone = read_data(read_record(tmp_path))
    assert both.step == "ingest_examples-whole, ingest_examples"
    assert list(both.tables) == ["rows", "cut at 16 tokens", "cut at 16 tokens, ingest_examples"]
    assert both.tables["cut at 16 tokens, ingest_examples"] == {"train": "75.00 %"}
    assert alone.step == "ingest_examples-other"
