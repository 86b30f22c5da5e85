import dataclasses
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.dsl.errors import InputError
from components.sources.questions import Question, QuestionSource
from components.sources.tagged_words import Sentence, SentenceSource

ROWS = [{"words": ["Ann", "ran"], "tags": ["B-per", "O"]}, {"words": ["Bob"], "tags": ["B-org"]}]
SENTENCES = [Sentence(("Ann", "ran"), ("B-per", "O")), Sentence(("Bob",), ("B-org",))]
COLUMNS = "Ann\tB-per\nran\tO\n\nBob\tB-org\n"
QUESTION = {"id": "q", "question": "Who?", "context": "Ann ran.", "answers": {"text": ["Ann"], "answer_start": [0]}}


def write(folder, name, content):
    (folder / name).write_text(content)
    return str(folder / name)


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.tsv", "train", "emerging.test.annotated"])
def test_columns_under_any_name(tmp_path, name):
    assert SentenceSource(write(tmp_path, name, COLUMNS)).splits() == {"train": SENTENCES}


def test_sentences_as_rows(tmp_path):
    write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, ROWS)))
    write(tmp_path, "b.csv", "words,tags\nAnn ran,B-per O\nBob,B-org\n")
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    assert SentenceSource(str(tmp_path)).splits() == {"train": SENTENCES * 3}


def test_fields_may_have_other_names(tmp_path):
    file = write(tmp_path, "a.jsonl", '{"tokens": ["run", "!"], "pos": ["VB", "."]}')
    source = SentenceSource(file, words="tokens", tags="pos", scheme="any")
    assert source.splits() == {"train": [Sentence(("run", "!"), ("VB", "."))]}
    assert source.labels(source.splits()["train"]) == [".", "VB"]


# As CoNLL-2003 is distributed: "B-" only where an entity comes right behind another one of its type.
IOB1 = (
    "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
    "Ann NNP I-NP I-PER\nLee NNP I-NP I-PER\nBob NNP B-NP B-PER\n"
)
BIO = [Sentence(("EU", "rejects"), ("B-ORG", "O")), Sentence(("Ann", "Lee", "Bob"), ("B-PER", "I-PER", "B-PER"))]


def test_tags_in_another_scheme_are_read_as_bio(tmp_path):
    source = SentenceSource(write(tmp_path, "a.txt", IOB1), scheme="IOB1")
    assert source.splits() == {"train": BIO}
    assert source.labels(BIO) == ["B-ORG", "B-PER", "I-ORG", "I-PER", "O"]
    lists = [{"words": "EU rejects", "tags": "U-ORG O"}, {"words": "Ann Lee Bob", "tags": "B-PER L-PER U-PER"}]
    file = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lists)))
    for scheme in ("BILOU", "IOBES"):
        assert SentenceSource(file, scheme=scheme).splits() == {"train": BIO}


@pytest.mark.parametrize(
    ("name", "content", "scheme", "message"),
    [
        (
            *("a.txt", IOB1, "BIO"),
            "a.txt line 3: the tag 'I-ORG' must follow B-ORG or I-ORG, got 'O' before it; "
            'the tags look like IOB1: set scheme = "IOB1"',
        ),
        (
            *("a.jsonl", '{"words": "a b", "tags": "O O"}\n{"words": "a b", "tags": "O S-x"}', "BIO"),
            "a.jsonl line 2, word 2: the tag must be O, or B- or I- with a type, got 'S-x'; "
            'the tags look like IOBES: set scheme = "IOBES"',
        ),
        (
            *("a.txt", "a DET\nb NN\n", "BIO"),
            "a.txt line 1: the tag must be O, or B- or I- with a type, got 'DET'; "
            'the tags look like no entities: set scheme = "any"',
        ),
        (
            *("a.txt", "a I-x\nb O\n\nc O\nd B-x\n", "IOB1"),
            "a.txt line 5: the tag 'B-x' must follow B-x or I-x, got 'O' before it",
        ),
        (
            *("a.txt", "a S-x\n\nb O\nc B-x\n", "IOBES"),
            "a.txt line 4: the tag 'B-x' must be followed by I-x or E-x or L-x, got the end of the sentence",
        ),
    ],
)
def test_tags_that_break_the_scheme_are_named_with_the_likely_one(tmp_path, name, content, scheme, message):
    with pytest.raises(InputError) as error:
        SentenceSource(write(tmp_path, name, content), scheme=scheme).check()
    assert str(error.value) == f"{tmp_path}/{message}"


def test_labels_hold_both_tags_of_each_type():
    assert SentenceSource("a").labels(SENTENCES) == ["B-org", "B-per", "I-org", "I-per", "O"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.conll", "a O\n\nb O\nc I-x\n", r"a\.conll line 4: the tag 'I-x' must follow B-x or I-x, got 'O' before it"),
        ("a.jsonl", '{"words": ["a", "b"], "tags": ["O", "NN"]}', r"a\.jsonl line 1, word 2: the tag must be O, or B-"),
        ("a.jsonl", '{"words": ["a"], "labels": ["O"]}', r"line 1 has no field 'tags'"),
        ("a.txt", "\n \n", r"a\.txt must hold at least one sentence, got none"),
        ("a.txt", "a O\n", r"a\.txt must hold at least 2 labels, got only \['O'\]"),
        ("a.txt", "a", r"line 1 must have at least 2 columns"),
    ],
)
def test_malformed_sentences(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        SentenceSource(write(tmp_path, name, content)).check()


def test_a_type_that_training_never_saw(tmp_path):
    train, test = write(tmp_path, "a", COLUMNS), write(tmp_path, "b", "Ann\tB-per\nLee\tI-per\n\nUN\tB-grp\n")
    with pytest.raises(InputError, match=r"^test has the label 'B-grp', which training never saw; did you mean 'B-"):
        SentenceSource(train, test=test).check()


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a\.jsonl must hold at least one question, got none"),
        (f"{json.dumps(QUESTION)}\n" * 2, r"the ids of .*a\.jsonl must differ, got 'q' 2 times"),
        ('{"id": "q", "question": "?", "context": "c"}', r"a\.jsonl line 1 has no field 'answers'"),
    ],
)
def test_malformed_questions(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        QuestionSource(write(tmp_path, "a.jsonl", content)).check()


def test_fingerprints_follow_settings_and_content(tmp_path):
    file, other = write(tmp_path, "a.jsonl", json.dumps(ROWS[0])), write(tmp_path, "b.jsonl", json.dumps(ROWS[0]))
    source = SentenceSource(file)
    changed = dataclasses.replace(source, tags="words2"), dataclasses.replace(source, test=other)
    assert len({each.fingerprint() for each in (source, *changed)}) == 3
    assert source.fingerprint() == SentenceSource(other).fingerprint()
    write(tmp_path, "b.jsonl", "{}")
    assert source.fingerprint() != SentenceSource(other).fingerprint()
    assert QuestionSource(file).fingerprint() not in (source.fingerprint(), QuestionSource(other).fingerprint())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SentenceSource(""), r"SentenceSource\.train must not be empty"),
        (lambda: SentenceSource("a", word_column=-1), r"SentenceSource\.tag_column must be another than word_column"),
        (lambda: SentenceSource("a", tags="words"), r"SentenceSource\.tags must be another than words, got 'words'"),
        (
            lambda: SentenceSource("a", scheme="IOB"),
            r"SentenceSource\.scheme must be one of \('BIO', 'IOB1', 'IOBES', 'BILOU', 'any'\)",
        ),
        (lambda: QuestionSource(""), r"QuestionSource\.train must not be empty"),
        (lambda: QuestionSource("a", task="answers"), r"QuestionSource\.task must be one of"),
    ],
)
def test_sources_are_checked_on_creation(make, message):
    with pytest.raises(ValueError, match=message):
        make()
