import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.files.tables import Record
from components.files.text_files import Lines
from components.sources.shared import KeptColumns
from components.sources.tagged_words import Sentence, SentenceSource, parse_columns, parse_lists

# Neither white space nor a mark of a document's start; the words of other scripts, marks and digits are all there. What
# begins a file may be the mark of its byte order, which is left out.
OTHERS = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\ufeff")
WORDS = st.text(OTHERS, min_size=1, max_size=5)
ANY_SENTENCES = st.lists(st.lists(st.tuples(WORDS, st.sampled_from(["O", "B-x"])), min_size=1, max_size=4), max_size=4)


def parse(folder, content, **columns):
    file = folder / "a.conll"
    file.write_bytes(content.encode())
    return list(parse_columns(Lines(str(file)), **columns))


@given(ANY_SENTENCES, st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n"]))
def test_any_sentences_come_back_as_they_were_written(tmp_path_factory, sentences, between, end):
    content = "".join("".join(f"{between.join(pair)}{end}" for pair in sentence) + end for sentence in sentences)
    actual_sentences = parse(tmp_path_factory.mktemp("conll"), content)
    assert [list(zip(sentence.words, sentence.tags, strict=True)) for sentence, _ in actual_sentences] == sentences


def test_documents_and_lines_of_white_space_end_sentences(tmp_path):
    content = "-DOCSTART- -X- O O\n\nEU NNP B-ORG\n.  . O\n\t\nPeter\tNNP\tB-PER\n-DOCSTART-\nrun VB O"
    assert parse(tmp_path, content) == [
        (Sentence(("EU", "."), ("B-ORG", "O")), 3),
        (Sentence(("Peter",), ("B-PER",)), 6),
        (Sentence(("run",), ("O",)), 8),
    ]


def test_columns_and_prefix(tmp_path):
    columns = {"word_column": 1, "tag_column": -2, "prefix": "en:"}
    assert parse(tmp_path, "1\ten:New York\tO\tx\n2\ten:en:\tO\tx\n", **columns)[0][0].words == ("New York", "en:")


@given(st.text(st.sampled_from("a\u00a0\u3000\u2003\u200b"), min_size=1, max_size=4), st.sampled_from(["\t", " "]))
def test_what_is_read_from_columns_can_be_written_as_lists_and_read_again(tmp_path_factory, word, between):
    try:
        ((sentence, _),) = parse(tmp_path_factory.mktemp("conll"), f"{word}{between}O\n")
    except InputError:
        assert not word.strip()
        return
    values = (list(sentence.words), list(sentence.tags))
    assert parse_lists(Record("f", "row 1", values, None), ("words", "tags")) == sentence


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("a O\nb\n", {}, r"a\.conll line 2 must have at least 2 columns, got 1: 'b'"),
        ("a O\n", {"tag_column": 3}, r"line 1 must have at least 4 columns, got 2: 'a O'"),
        ("a O\n", {"word_column": -3}, r"line 1 must have at least 3 columns, got 2"),
        ("a\tO\n\tO\n", {}, r"line 2: the word must not be empty, got '\\tO'"),
        ("a\t\n", {}, r"line 1: the tag must not be empty"),
        ("en:a O\nb O\n", {"prefix": "en:"}, r"line 2: the word must start with prefix 'en:', got 'b'"),
        ("en: O\n", {"prefix": "en:"}, r"line 1: the word must not be empty"),
        ("a O\n\u00a0 O\n", {}, r"a\.conll line 2: the word must not be empty, got '\\xa0 O'"),
        ("a\tO\n\u3000\tO\n", {}, r"a\.conll line 2: the word must not be empty, got '\\u3000\\tO'"),
        ("a\t\u2003\n", {}, r"line 1: the tag must not be empty"),
        ("en:\u00a0\tO\n", {"prefix": "en:"}, r"line 1: the word must not be empty"),
    ],
)
def test_malformed_lines(tmp_path, content, columns, message):
    with pytest.raises(InputError, match=message):
        parse(tmp_path, content, **columns)


@pytest.mark.parametrize("values", [(["a", "b"], ["O", "O"]), ("a  b", "O O"), ([b"a", b"b"], "O O")])
def test_rows_of_lists(values):
    assert parse_lists(Record("f", "row 1", values, None), ("words", "tags")) == Sentence(("a", "b"), ("O", "O"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((["a", "b"], ["O"]), r"f row 1: field 'tags' must hold a tag for each of 2 words, got 1"),
        (([], []), r"field 'words' must be a list with at least one string, got \[\]"),
        ((["a"], None), r"field 'tags' must be a list with at least one string, got None"),
        ((["a", " "], ["O", "O"]), r"field 'words' must not hold an empty string, got one at 1"),
        ((["a"], [["O"]]), r"field 'tags' must be text, got \['O'\]"),
    ],
)
def test_malformed_rows(values, message):
    with pytest.raises(InputError, match=message):
        parse_lists(Record("f", "row 1", values, None), ("words", "tags"))


ROWS = [{"words": ["Ann", "ran"], "tags": ["B-per", "O"]}, {"words": ["Bob"], "tags": ["B-org"]}]
SENTENCES = [Sentence(("Ann", "ran"), ("B-per", "O")), Sentence(("Bob",), ("B-org",))]
COLUMNS = "Ann\tB-per\nran\tO\n\nBob\tB-org\n"


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
    assert source.label_order({"VB", "."}) == [".", "VB"]


# As CoNLL-2003 is distributed: "B-" only where an entity comes right behind another one of its type.
IOB1 = (
    "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
    "Ann NNP I-NP I-PER\nLee NNP I-NP I-PER\nBob NNP B-NP B-PER\n"
)


BIO = [Sentence(("EU", "rejects"), ("B-ORG", "O")), Sentence(("Ann", "Lee", "Bob"), ("B-PER", "I-PER", "B-PER"))]


def test_tags_in_another_scheme_are_read_as_bio(tmp_path):
    source = SentenceSource(write(tmp_path, "a.txt", IOB1), scheme="IOB1")
    assert source.splits() == {"train": BIO}
    assert source.label_order({"O", "B-PER", "I-ORG"}) == ["B-ORG", "B-PER", "I-ORG", "I-PER", "O"]
    lists = [{"words": "EU rejects", "tags": "U-ORG O"}, {"words": "Ann Lee Bob", "tags": "B-PER L-PER U-PER"}]
    file = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lists)))
    for scheme in ("BILOU", "IOBES"):
        assert SentenceSource(file, scheme=scheme).splits() == {"train": BIO}


OF_BIO, OF_ANY = (f"the tag must be O, or {tags} with a type" for tags in ("B- or I-", "B-, I-, E- or S-"))
LIKELY = 'the tags look like {}: set scheme = "{}"'


@pytest.mark.parametrize(
    ("kind", "content", "scheme", "message"),
    [
        (*("txt", "a B-x\nb O\n\nc 0\n", "BIO"), f" line 4: {OF_BIO}, got '0'"),
        (*("txt", "a B-x\nb O\n\nc [SEP]\n", "any"), f" line 4: {OF_ANY}, got '[SEP]'"),
        (*("txt", "a B-x\nb L-x\nc O\n", "any"), f" line 2: {OF_ANY}, got 'L-x'; {LIKELY.format('BILOU', 'BILOU')}"),
        (
            *("txt", "# id 1\tdomain=en\na _ _ B-x\nb _ _ O\n", "BIO"),
            f" line 1: {OF_BIO}, got 'domain=en'; remove the line if it is a comment",
        ),
        (*("txt", "a B-x\nb I-x\n", "any"), " must have the tag O besides those of entities, got ['B-x', 'I-x']"),
        (
            *("jsonl", '{"words": "a b", "tags": "O O"}\n{"words": "a b", "tags": "O S-x"}', "BIO"),
            f" line 2, word 2: {OF_BIO}, got 'S-x'; {LIKELY.format('IOBES', 'IOBES')}",
        ),
        (*("txt", "a DET\nb NN\n", "BIO"), f" line 1: {OF_BIO}, got 'DET'; {LIKELY.format('no entities', 'any')}"),
        (
            *("txt", "a I-x\nb O\n\nc O\nd B-x\n", "IOB1"),
            " line 5: the tag 'B-x' must follow B-x or I-x, got 'O' before it",
        ),
        (
            *("txt", "a S-x\n\nb O\nc B-x\n", "IOBES"),
            " line 4: the tag 'B-x' must be followed by I-x or E-x or L-x, got the end of the sentence",
        ),
    ],
)
def test_tags_that_break_the_scheme_are_named_with_the_likely_one(tmp_path, kind, content, scheme, message):
    file = write(tmp_path, f"a.{kind}", content)
    with pytest.raises(InputError) as error:
        SentenceSource(file, scheme=scheme).check()
    assert str(error.value) == f"{file}{message}"


def test_entities_that_begin_with_an_i_tag_are_read_as_conlleval_reads_them(tmp_path):
    file = write(tmp_path, "a.txt", "a I-x\nb I-x\nc I-y\nd O\ne I-y\n\nf B-x\ng I-x\n")
    source = SentenceSource(file, test=write(tmp_path, "b.txt", "a B-x\nb I-y\n"))
    splits = source.splits()
    assert [row.tags for row in splits["train"]] == [("B-x", "I-x", "B-y", "O", "B-y"), ("B-x", "I-x")]
    rule = "begin with an I- tag, which is read as B-, as conlleval does"
    assert source.describe(splits) == [f"3 entities of train rows {rule}", f"1 entities of test rows {rule}"]
    assert SentenceSource(write(tmp_path, "c.txt", IOB1)).splits() == {"train": BIO}


def test_sentences_heads_and_notes_are_read_at_once(tmp_path, opened):
    tree = "1\tfilms\t_\tNOUN\t_\t_\t2\tx\t_\t_\n2\tend\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    files = [write(tmp_path, "a.conllu", tree), write(tmp_path, "b.txt", "films NOUN\n")]
    source = SentenceSource(files[0], test=files[1], scheme="any")
    splits = source.splits()
    assert source.describe(splits) == []
    assert splits.heads == {"train": [(2, 0)], "test": [()]}
    assert opened == files


def test_places_and_further_columns_of_sentences_are_read_with_them(tmp_path, opened):
    lines = '{"words": ["a"], "tags": ["I-x"], "id": 7}\n{"words": ["b"], "tags": ["O"]}\n'
    file = write(tmp_path, "a.jsonl", lines)
    two = SentenceSource(file).splits(KeptColumns(all_of_train=True))["train"]
    assert two == [Sentence(("a",), ("B-x",)), Sentence(("b",), ("O",))]
    assert [row.origin.location for row in two] == ["a.jsonl line 1", "a.jsonl line 2"]
    assert two[0].origin.columns == {"words": '["a"]', "tags": '["I-x"]', "id": "7"}
    assert opened == [file]
    columns = SentenceSource(write(tmp_path, "b.conll", COLUMNS)).splits(KeptColumns(all_of_train=True))["train"]
    assert columns[0].origin.location == "b.conll line 1"


def test_labels_hold_both_tags_of_each_type():
    assert SentenceSource("a").label_order({"O", "B-org", "I-per"}) == ["B-org", "B-per", "I-org", "I-per", "O"]


@pytest.mark.parametrize("scheme", ["BIO", "any"])
def test_a_tag_with_a_line_end_is_refused_with_its_place(tmp_path, scheme):
    file = tmp_path / "a.conll"
    file.write_text("x O\ny B-a\n\nz B-a\0b\n")
    rule = r"the tag must hold no line feed, carriage return or NUL, got 'B-a\x00b'; rename it in the data"
    with pytest.raises(InputError) as error:
        SentenceSource(str(file), scheme=scheme).splits()
    assert str(error.value) == f"{file} line 4: {rule}"
