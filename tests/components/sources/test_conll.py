import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.files.record_files import Record
from components.files.text_files import Lines
from components.sources.tagged_words import Sentence, parse_columns, parse_lists

# Neither white space nor a mark of a document's start; the words of other scripts, marks and digits are all there.
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=5)
SENTENCES = st.lists(st.lists(st.tuples(WORDS, st.sampled_from(["O", "B-x"])), min_size=1, max_size=4), max_size=4)


def parse(folder, content, **columns):
    file = folder / "a.conll"
    file.write_bytes(content.encode())
    return list(parse_columns(Lines(str(file)), **columns))


@given(SENTENCES, st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n"]))
def test_any_sentences_come_back_as_they_were_written(tmp_path_factory, sentences, between, end):
    content = "".join("".join(f"{between.join(pair)}{end}" for pair in sentence) + end for sentence in sentences)
    found = parse(tmp_path_factory.mktemp("conll"), content)
    assert [list(zip(*sentence, strict=True)) for sentence, _ in found] == sentences


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
