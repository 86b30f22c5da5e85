"""Drift: planted changes are found, samples of the training rows' own population pass, and measures equal SciPy's."""

import dataclasses
import json
import random
import re

import numpy as np
import pytest

from components.dsl.errors import InputError
from components.examples.row_schema import (
    MOST_WORDS,
    RowSchema,
    WordReference,
    choose_edges,
    count_bins,
    decode_words,
)
from components.sources.label_sets import LabelSetRow, LabelSetSource
from components.sources.questions import Question, QuestionSource
from components.sources.retrieval import QueryRow, RetrievalSource
from components.sources.table import TableSource, TextRow
from components.sources.tagged_words import Sentence, SentenceSource
from keras_bert.options.data import Prompts
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from plugins.drift.measures import (
    _share,
    chance_distance,
    chance_index,
    compare_rows,
    shares_distance,
    stability_index,
)
from plugins.drift.new_rows import read_new_rows
from tests.components.labelled_rows import schema_of

WORDS = ("cow", "hen", "owl", "oak", "fir", "the")
TOKENIZER = EagerWordPiece([*SPECIAL_TOKENS, *WORDS, "##hen"], lowercase=True)
WORDS_AND_TOKENS = ("words not in training rows", "token shares")
SOURCE = TableSource("rows.csv", text="review", label="kind")


def make_rows(seed, count=300, *, weights=(3, 1)):
    rng = random.Random(seed)
    return [
        TextRow(" ".join(rng.choices(WORDS, k=rng.randint(3, 12))), rng.choices(("farm", "wood"), weights)[0])
        for _ in range(count)
    ]


SCHEMA = schema_of(make_rows(0, 1000), SOURCE, 14, TOKENIZER)


def differing(rows, *, is_labelled=True):
    compared = compare_rows(SCHEMA, rows, TOKENIZER, is_labelled=is_labelled)
    return [row.name for row in compared if row.differs]


@pytest.mark.parametrize("count", [30, 300])
def test_samples_of_the_same_population_rarely_differ(count):
    alarms = [differing(make_rows(seed, count)) for seed in range(1, 41)]
    # Three properties are compared by chance's own limit of 1 %: one alarm in forty samples is within it.
    assert sum(map(bool, alarms)) <= 1


def _longer(row):
    return row._replace(text=f"{row.text} {row.text} {row.text}")


def _in_cyrillic(row):
    return row._replace(text=row.text.replace("cow", "корова"))


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([*make_rows(1), TextRow("the cow", "sea")], ["labels"]),
        (make_rows(1, weights=(1, 3)), ["label shares"]),
        ([row._replace(label="sea") for row in make_rows(1)], ["labels", "label shares"]),
        (list(map(_longer, make_rows(1))), ["lengths in tokens", "rows above 14 tokens"]),
        (list(map(_in_cyrillic, make_rows(1))), ["scripts", "unknown tokens", *WORDS_AND_TOKENS]),
        (
            [row._replace(text=row.text.replace("cow", "gnu")) for row in make_rows(1)],
            ["unknown tokens", *WORDS_AND_TOKENS],
        ),
        # Words of known pieces: nothing is unknown to the vocabulary.
        (
            [row._replace(text=row.text.replace("cow", "owlhen")) for row in make_rows(1)],
            ["rows above 14 tokens", *WORDS_AND_TOKENS],
        ),
        (
            [row._replace(text=re.sub("cow|hen|owl", "owlhenhen", row.text)) for row in make_rows(1)],
            ["lengths in tokens", "rows above 14 tokens", *WORDS_AND_TOKENS, "tokens a word"],
        ),
        ([row._replace(text=re.sub("cow|hen|owl|oak", "fir", row.text)) for row in make_rows(1)], ["token shares"]),
    ],
)
def test_planted_changes_are_named_and_no_others(rows, names):
    assert differing(rows) == names


def test_rows_without_labels_are_compared_by_their_texts():
    rows = [row._replace(label="") for row in make_rows(1)]
    assert differing(rows, is_labelled=False) == []
    assert differing(list(map(_longer, rows)), is_labelled=False) == ["lengths in tokens", "rows above 14 tokens"]


def test_numbers_are_compared_in_tenths_of_the_training_rows():
    rng = random.Random(0)
    rows = [TextRow(row.text, str(rng.gauss(0, 1))) for row in make_rows(0, 500)]
    schema = schema_of(rows, dataclasses.replace(SOURCE, task="regression"), 14, TOKENIZER)
    assert schema.numbers == [50] * 10
    later = [row._replace(label=str(float(row.label) + 1)) for row in rows]
    for compared, is_other in ((rows, False), (later, True)):
        (numbers,) = (
            row for row in compare_rows(schema, compared, TOKENIZER, is_labelled=True) if row.name == "numbers"
        )
        assert numbers.differs == is_other


def test_the_index_and_its_chance():
    assert stability_index([10, 20, 30], [10, 20, 30]) == 0.0
    assert stability_index([99, 1], [1, 99]) == pytest.approx(stability_index([1, 99], [99, 1]))
    # 1/100 + 1/100, times the 99th percentile of chi-squared with 1 degree of freedom, 6.635.
    assert chance_index([50, 50], [40, 60]) == pytest.approx(0.02 * 6.634897)
    assert shares_distance({"a": 3, "b": 1}, {"a": 0.75, "b": 0.25}) == pytest.approx(0.0, abs=1e-7)


def test_chance_moves_counts_as_the_formula_says():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(50))
    pairs = [(rng.multinomial(5_000, shares), rng.multinomial(2_000, shares)) for _ in range(200)]
    divergences = [shares_distance(*(dict(enumerate(counts)) for counts in pair)) ** 2 for pair in pairs]
    assert np.mean(divergences) == pytest.approx(chance_distance(*pairs[0]) ** 2, rel=0.05)


def test_new_words_are_expected_as_often_as_words_that_stand_once():
    hashes = np.asarray([5, 5, 9, 9, 9, 2, 7, 7], np.uint32)
    reference = WordReference.of(hashes)
    assert (decode_words(reference.words).tolist(), reference.new) == ([2, 5, 7, 9], 1 / 8)
    many = np.repeat(np.arange(MOST_WORDS + 100, dtype=np.uint32), 2)
    reference = WordReference.of(many)
    assert len(reference.words) == MOST_WORDS * 16 // 3 // 4 * 4 + 4
    assert reference.new == pytest.approx(100 / (MOST_WORDS + 100))
    assert WordReference.of(hashes[:0]) == ("", 0.0)


def test_bins_of_few_different_values():
    assert choose_edges([5, 5, 5]) == []
    assert count_bins([5, 5, 9], []) == [3]
    assert choose_edges([]) == []


@pytest.mark.parametrize(
    ("rows", "source"),
    [
        (make_rows(0, 20), SOURCE),
        (
            [TextRow("cow", "0.5", "hen"), TextRow("owl", "0.2", "hen")],
            TableSource("a", second_text="b", task="embedding"),
        ),
        (
            [LabelSetRow("the cow", ("x", "y")), LabelSetRow("the hen", ())],
            LabelSetSource("a.csv", label_columns=("x", "y")),
        ),
        ([Sentence(("cow", "hen"), ("O", "B-X"))] * 2, SentenceSource("a.conll")),
        ([Question("1", "cow", "the cow", (("cow", 4),))], QuestionSource("a.json")),
    ],
)
def test_a_schema_is_read_as_it_was_written(rows, source):
    schema = schema_of(rows, source, 14, TOKENIZER)
    assert RowSchema.parse(json.loads(json.dumps(dataclasses.asdict(schema))), "schema.json") == schema
    assert [row.name for row in compare_rows(schema, rows, TOKENIZER, is_labelled=True) if row.differs] == []


@pytest.mark.parametrize("content", [None, [], {}, {"task": "classification"}])
def test_damaged_schemas_are_one_line(content):
    with pytest.raises(InputError, match=r"^schema\.json must hold the schema of labelled rows, got .*$"):
        RowSchema.parse(content, "schema.json")
    numbers = {"numbers": [1, 2, 3], "number_edges": [0.5]}
    for change in ({"rows": "many"}, {"lengths": [1]}, numbers, {"task": "poetry"}, {"words": "?"}, {"words": "AAA="}):
        with pytest.raises(InputError, match=r"^schema\.json must hold the schema of labelled rows, got .*$"):
            RowSchema.parse({**dataclasses.asdict(SCHEMA), **change}, "schema.json")


def test_new_rows_with_several_labels(tmp_path):
    source = LabelSetSource("a.csv", label_columns=("x", "y"))
    schema = schema_of([LabelSetRow("the cow", ("x",)), LabelSetRow("the hen", ("y",))], source, 14, TOKENIZER)
    table = tmp_path / "new.csv"
    table.write_text("text,y,x\nthe cow,1,0\n")
    assert read_new_rows(schema, str(table)) == ([LabelSetRow("the cow", ("y",))], True)
    table.write_text("text\nthe cow\n")
    assert read_new_rows(schema, str(table)) == ([LabelSetRow("the cow", ())], False)


def test_new_rows_are_read_by_the_columns_of_the_training_rows(tmp_path, opened):
    table = tmp_path / "new.csv"
    table.write_text("kind,review\nfarm,the cow\n")
    assert read_new_rows(SCHEMA, str(table)) == ([TextRow("the cow", "farm")], True)
    assert opened == [str(table)]
    table.write_text("id,review\n1,the cow\n")
    assert read_new_rows(SCHEMA, str(table)) == ([TextRow("the cow", "")], False)
    table.write_text("id,text\n1,the cow\n")
    with pytest.raises(InputError, match="has no column 'review'"):
        read_new_rows(SCHEMA, str(table))
    table.write_text("id,review\n")
    with pytest.raises(InputError, match="must hold at least one row, got none"):
        read_new_rows(SCHEMA, str(table))


def test_labels_of_any_file_and_row_count(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"review": "the hen"}\n')
    (tmp_path / "b.jsonl").write_text('{"review": "the cow"}\n' * 1200 + '{"review": "the cow", "kind": "farm"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl line 1"):
        read_new_rows(SCHEMA, str(tmp_path))
    (tmp_path / "a.jsonl").write_text('{"review": "the hen", "kind": "farm"}\n')
    (tmp_path / "b.jsonl").write_text('{"review": "the cow"}\n')
    with pytest.raises(InputError, match=r"b\.jsonl line 1"):
        read_new_rows(SCHEMA, str(tmp_path))


def test_new_queries_are_read_with_passages_and_without_negatives(tmp_path):
    source = RetrievalSource("rows.csv", query="q", negatives=("n",), prompts=Prompts(query="query: "))
    rows = [QueryRow(row.text, ("the oak",), ("the hen",)) for row in make_rows(5)]
    content = json.loads(json.dumps(dataclasses.asdict(schema_of(rows, source, 14, TOKENIZER))))
    (tmp_path / "new.csv").write_text("q,passage\ncow hen,the cow\noak,the fir\n")
    fresh, is_labelled = read_new_rows(RowSchema.parse(content, "schema.json"), str(tmp_path / "new.csv"))
    assert fresh == [QueryRow("cow hen", ("the cow",)), QueryRow("oak", ("the fir",))]
    assert is_labelled


def test_a_share_that_is_large_already_has_a_limit_below_all():
    assert not _share("words", 0.6, 0.7, 0.03).differs
    assert _share("words", 0.6, 0.9, 0.03).differs
    assert _share("words", 0.01, 0.06, 0.03).differs
