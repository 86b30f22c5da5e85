import dataclasses
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.dsl.errors import InputError
from components.sources.label_sets import LabelSetSource
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import SentenceSource
from components.sources.teacher_columns import TeacherAnswer, UnlabelledSource, most_likely_label


def write(folder, rows, name="rows.jsonl"):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / name)


def logs(*shares):
    return tuple(round(math.log(share), 5) for share in shares)


ROWS = [
    {"text": "a", "label": "neg", "p": {"pos": 0.2, "neg": 0.8}},
    {"text": "b", "label": "pos"},
    {"text": "c", "p": {"pos": 1.0}},
    {"text": "d", "label": None, "p": [0.75, 0.25]},
]
ORDER = ("neg", "pos")
EXPECTED = [
    TextRow("a", "neg", None, TeacherAnswer(logs(0.8, 0.2), is_label=False)),
    TextRow("b", "pos"),
    TextRow("c", "pos", None, TeacherAnswer((round(math.log(1e-6), 5), 0.0), is_label=True)),
    TextRow("d", "neg", None, TeacherAnswer(logs(0.75, 0.25), is_label=True)),
]


def test_rows_have_a_label_a_teachers_answer_or_both(tmp_path):
    source = TableSource(write(tmp_path, ROWS), labels=ORDER, probabilities="p")
    rows = source.splits()
    assert rows["train"] == EXPECTED
    assert source.describe(rows) == [
        "the teacher's likeliest label is that of the row in 1 of 1 train rows that have both"
    ]
    swapped = TableSource(write(tmp_path, [{**ROWS[0], "p": [0.2, 0.8]}, *ROWS[1:]]), labels=ORDER, probabilities="p")
    (line,) = swapped.describe(swapped.splits())
    assert line.endswith(
        "in 0 of 1 train rows that have both; chance agrees more often, so check the order of lists, or of `labels`"
    )


def test_teachers_answers_are_equal_in_all_kinds_of_tables(tmp_path):
    shares = [[0.8, 0.2], None, [0.0, 1.0], [0.75, 0.25]]
    lines = [
        f"{row['text']}\t{row.get('label') or ''}\t{'' if part is None else part}"
        for row, part in zip(ROWS, shares, strict=True)
    ]
    (tmp_path / "rows.tsv").write_text("text\tlabel\tp\n" + "\n".join(lines) + "\n")
    pq.write_table(
        pa.table({"text": list("abcd"), "label": ["neg", "pos", None, None], "p": shares}), tmp_path / "rows.parquet"
    )
    columns = [
        f"{row['text']},{row.get('label') or ''},{','.join(map(str, part or ['', '']))}"
        for row, part in zip(ROWS, shares, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("text,label,n,y\n" + "\n".join(columns) + "\n")
    for name in ("rows.tsv", "rows.parquet"):
        assert TableSource(str(tmp_path / name), labels=ORDER, probabilities="p").splits()["train"] == EXPECTED
    source = TableSource(str(tmp_path / "rows.csv"), labels=ORDER, probability_columns=("n", "y"))
    assert source.splits()["train"] == EXPECTED


def test_log_probabilities_are_normalized(tmp_path):
    rows = [{"text": "a", "p": {"x": math.log(0.3), "y": math.log(0.1)}}, {"text": "b", "p": {"y": -0.1, "x": -9.0}}]
    rows = TableSource(write(tmp_path, rows), probabilities="p", log_probabilities=True).splits()["train"]
    assert rows[0] == TextRow("a", "x", None, TeacherAnswer(logs(0.75, 0.25), is_label=True))
    assert rows[1].label == "y", "without any label the names are those of the objects"


def test_multi_label_answers_have_independent_probabilities(tmp_path):
    rows = [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": [], "p": {"x": 0.5, "y": 0.0}}]
    rows += [{"text": "c", "p": [0.5, 0.2]}]
    half, fifth, never = 0.0, round(math.log(0.25), 5), round(math.log(1e-6 / (1 - 1e-6)), 5)
    file = write(tmp_path, rows)
    answers = [row.teacher for row in LabelSetSource(file, labels=("x", "y"), probabilities="p").splits()["train"]]
    assert answers == [(), TeacherAnswer((half, never), is_label=False), TeacherAnswer((half, fifth), is_label=True)]
    assert LabelSetSource(file, labels=("y", "x"), probabilities="p").splits()["train"][2].labels == ("y",)


def label_columns():
    """Rows of `label_columns` that are not sorted, with answers as objects, as lists and in columns."""
    rows = [{"text": "a", "toxic": 1, "insult": 0}, {"text": "b", "toxic": 0, "insult": 1}, {"text": "c"}]
    answers = [{"insult": 0.2, "toxic": 0.9}, {"toxic": 0.1, "insult": 0.7}, {"toxic": 0.8, "insult": 0.4}]
    columns = {"label_columns": ("toxic", "insult")}
    yield [{**row, "p": answer} for row, answer in zip(rows, answers, strict=True)], {**columns, "probabilities": "p"}
    lists = [[answer["toxic"], answer["insult"]] for answer in answers]
    yield [{**row, "p": answer} for row, answer in zip(rows, lists, strict=True)], {**columns, "probabilities": "p"}
    cells = [{**row, "p1": answer[0], "p2": answer[1]} for row, answer in zip(rows, lists, strict=True)]
    yield cells, {**columns, "probability_columns": ("p1", "p2")}


@pytest.mark.parametrize(("rows", "settings"), list(label_columns()), ids=["objects", "lists", "columns"])
def test_answers_have_the_order_of_label_columns(tmp_path, rows, settings):
    source = LabelSetSource(write(tmp_path, rows), **settings)
    unlabelled = UnlabelledSource(
        write(tmp_path, rows[2:], "more.jsonl"),
        probabilities=source.probabilities,
        probability_columns=source.probability_columns,
    )
    names = source.label_order({"insult", "toxic"})
    for row in [*source.splits()["train"], *source.read_unlabelled(unlabelled)]:
        (likeliest,) = row.labels
        assert most_likely_label(row.teacher.numbers, names) == likeliest


def classes(feature, column="label"):
    return {b"huggingface": json.dumps({"info": {"features": {column: feature}}}).encode()}


def test_a_class_label_names_the_order_of_lists(tmp_path):
    names, labels = ["business", "world", "sports"], [0, 1, 2, None]
    shares = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9], [0.1, 0.6, 0.3]]
    table = pa.table({"text": list("abcd"), "label": labels, "p": shares})
    pq.write_table(table.replace_schema_metadata(classes({"names": names})), tmp_path / "rows.parquet")
    source = TableSource(str(tmp_path / "rows.parquet"), probabilities="p")
    rows = source.splits()["train"]
    assert [row.label for row in rows] == ["business", "world", "sports", "world"]
    assert [most_likely_label(row.teacher.numbers, sorted(names)) for row in rows] == [row.label for row in rows]
    more = write(tmp_path, [{"text": "x", "p": [0.1, 0.6, 0.3]}], "more.jsonl")
    unlabelled = UnlabelledSource(more, probabilities="p", labels=tuple(names))
    assert source.read_unlabelled(unlabelled)[0].label == "world"
    tags = pa.table({"words": [["a", "b"]], "tags": [[1, 0]], "p": [[[0.1, 0.9], [0.8, 0.2]]]})
    features = classes({"feature": {"names": ["O", "ADJ"]}}, "tags")
    pq.write_table(tags.replace_schema_metadata(features), tmp_path / "tags.parquet")
    (row,) = SentenceSource(str(tmp_path / "tags.parquet"), scheme="any", probabilities="p").splits()["train"]
    assert row.teacher.numbers == (*logs(0.9, 0.1), *logs(0.2, 0.8)), "in the order ADJ, O"


def test_refuses_a_list_whose_order_nothing_names(tmp_path):
    rows = [{"text": str(label), "label": str(label), "p": [1.0] + [0.0] * 11} for label in range(12)]
    with pytest.raises(InputError, match=r"line 1: column 'p' must be an object .* nothing names the order of a list"):
        TableSource(write(tmp_path, rows), probabilities="p").check()
    order = tuple(map(str, range(12)))
    rows[2]["p"] = [0.0, 0.0, 1.0] + [0.0] * 9
    train = TableSource(write(tmp_path, rows), probabilities="p", labels=order).splits()["train"]
    assert most_likely_label(train[2].teacher.numbers, sorted(order)) == "2"


def test_columns_named_as_labels_may_have_any_order(tmp_path):
    rows = [{"text": "a", "label": "neg", "pos": 0.2, "neg": 0.8}, {"text": "b", "label": "pos"}]
    train = TableSource(write(tmp_path, rows), probability_columns=("pos", "neg")).splits()["train"]
    assert train[0].teacher.numbers == logs(0.8, 0.2)


def test_regression_and_pairs_have_a_number_as_answer(tmp_path):
    rows = [{"text": "a", "label": 1, "p": 1.5}, {"text": "b", "p": "2.5"}]
    train = TableSource(write(tmp_path, rows), task="regression", probabilities="p").splits()["train"]
    assert [(row.label, row.teacher) for row in train] == [("1", ((1.5,), False)), ("2.5", ((2.5,), True))]
    rows = [{**row, "other": "o"} for row in rows]
    source = TableSource(write(tmp_path, rows), task="embedding", second_text="other", probabilities="p", scale=5.0)
    assert [(row.label, row.teacher) for row in source.splits()["train"]] == [
        ("0.2", ((0.3,), False)),
        ("0.5", ((0.5,), True)),
    ]


def test_tags_have_probabilities_for_each_word(tmp_path):
    rows = [{"words": ["a", "b"], "tags": ["O", "B-X"]}]
    rows += [{"words": ["c", "d"], "p": [{"O": 1.0}, {"B-X": 0.25, "I-X": 0.75}]}]
    train = SentenceSource(write(tmp_path, rows), probabilities="p").splits()["train"]
    least = round(math.log(1e-6), 5)
    assert train[1].tags == ("O", "B-X"), "an entity begins with B-"
    assert train[1].teacher == TeacherAnswer((least, least, 0.0, *logs(0.25, 0.75), least), is_label=True)


def test_retrieval_has_a_score_of_each_passage(tmp_path):
    rows = [{"query": "q", "passage": "a", "n": ["b", "c"], "p": [5.0, 1.0, -2.0]}]
    rows += [{"query": "q", "passage": "d", "n": "b"}, {"query": "r", "passage": "a", "n": "d"}]
    train = RetrievalSource(write(tmp_path, rows), negatives=("n",), probabilities="p").splits()["train"]
    assert train[0].passages + train[0].negatives == ("a", "d", "b", "c")
    assert str(train[0].teacher.numbers) == "(5.0, nan, 1.0, -2.0)"
    assert train[1].teacher == ()


def test_reads_unlabelled_texts_with_answers(tmp_path):
    more = write(tmp_path, [{"body": "x", "label": "pos", "q": [0.9, 0.1]}], "more.jsonl")
    unlabelled = UnlabelledSource(more, text="body", probabilities="q", labels=ORDER)
    expected = [TextRow("x", "neg", None, TeacherAnswer(logs(0.9, 0.1), is_label=True))]
    for columns in ({"probabilities": "p", "labels": ("pos", "neg")}, {}):
        rows = ROWS if columns else [{"text": "a", "label": "pos"}, {"text": "b", "label": "neg"}]
        assert TableSource(write(tmp_path, rows), **columns).read_unlabelled(unlabelled) == expected
    with pytest.raises(
        InputError, match=r"more.jsonl line 1: column 'r' must hold a teacher's answer, got none; known: "
    ):
        TableSource(write(tmp_path, rows)).read_unlabelled(dataclasses.replace(unlabelled, probabilities="r"))
    sets = LabelSetSource(write(tmp_path, [{"text": "a", "label": ["pos", "neg"]}]))
    assert sets.read_unlabelled(unlabelled)[0].labels == ("neg",)


def bad_rows():
    two = [{"text": "a", "label": "neg"}, {"text": "b", "label": "pos"}]
    yield (
        [*two, {"text": "c", "p": [0.5, 0.6]}],
        r"rows.jsonl line 3: column 'p': the probabilities must add up to 1, give or take 0.02, got 1.1",
    )
    yield (
        [*two, {"text": "c", "p": [1.5, -0.5]}],
        r"line 3: column 'p': the number of 'neg' must be a probability, 0 to 1, got 1.5",
    )
    yield [*two, {"text": "c", "p": [-0.1, -2.3]}], r"got -0.1; set log_probabilities = true for logarithms$"
    unknown = [{"text": "c", "label": "new", "p": [0.5, 0.5]}, *two]
    yield unknown, r"must hold a probability of each label, got none of 'new'$"
    yield [*two, {"text": "c", "p": [0.5, None]}], r"the number of 'pos' must be a probability, 0 to 1, got None"
    yield [*two, {"text": "c", "p": [0.5, math.nan]}], r"the number of 'pos' must be a probability, 0 to 1, got nan"
    yield [*two, {"text": "c", "p": [1.0]}], r"of each of 2 labels in their order, \['neg', 'pos'\], got 1 numbers"
    yield (
        [*two, {"text": "c", "p": {"poss": 1.0}}],
        r"has 'poss', which is no label of the training rows; did you mean 'pos'\?",
    )
    yield (
        [*two, {"text": "c", "p": "high"}],
        r"line 3: column 'p' must be a number, a list or an object as JSON, got 'high'",
    )
    yield [*two, {"text": "c", "p": 0.5}], r"column 'p' must be a list or an object label -> probability, got 0.5"
    yield (
        [*two, {"text": "c"}],
        r"column 'p' of .*rows.jsonl must hold a teacher's answer in at least one row, got none; known",
    )
    yield (
        [*two, {"text": "c"}, {"text": "d", "p": [1, 0]}],
        r"line 3: the row must have a label in column 'label' or a teacher's answer in 'p', got neither",
    )
    unnamed = [
        {"text": "a", "p": {"x": 0.9, "y": 0.1}},
        {"text": "b", "p": {"x": 0.8, "z": 0.2}},
        {"text": "c", "p": {"z": 1}},
    ]
    yield unnamed, r"the label 'y' must be that of a training row, or the likeliest one in column 'p', got neither"


@pytest.mark.parametrize(("rows", "message"), list(bad_rows()))
def test_refuses_bad_answers_with_their_location(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        TableSource(write(tmp_path, rows), labels=ORDER, probabilities="p").check()


def test_refuses_unlabelled_text_without_answer(tmp_path):
    more = write(tmp_path, [{"text": "x", "q": [0.9, 0.1]}, {"text": "y"}], "more.jsonl")
    with pytest.raises(InputError, match=r"more\.jsonl line 2: column 'q' must hold a teacher's answer, got none"):
        TableSource(write(tmp_path, ROWS), labels=ORDER, probabilities="p").read_unlabelled(
            UnlabelledSource(more, probabilities="q")
        )


def test_refuses_test_rows_without_labels(tmp_path):
    test = write(tmp_path, [{"text": "a", "p": [1, 0]}], "test.jsonl")
    with pytest.raises(InputError, match=r"test\.jsonl line 1: .*'label'"):
        TableSource(write(tmp_path, ROWS), test=test, labels=ORDER, probabilities="p").check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probabilities": "p", "probability_columns": ("a", "b")}, "must be left out beside probab"),
        ({"log_probabilities": True}, "log_probabilities must be left out where there are no probabilities"),
        ({"labels": ("a", "b")}, "labels must be left out where there are no probabilities"),
        ({"task": "regression", "probability_columns": ("a", "b")}, "must be left out for regression"),
        ({"task": "regression", "probabilities": "p", "log_probabilities": True}, "which has no labels"),
    ],
)  # fmt: skip
def test_refuses_inconsistent_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TableSource("rows.tsv", **settings)
