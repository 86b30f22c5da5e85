"""Sentences of docstrings: which are taken, that no split tells about another, and what is asked of them."""

import pytest

from components.sources import docstring_task
from components.sources.docstring_task import INTACT, SWAPPED, DocstringTask, first_of_each, harvest_sentences, is_plain
from components.sources.docstrings import Library, find_sources, read_docstrings, split_of
from components.sources.table import TextRow

SHARED = "One of many the same that all of them say."


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        ("Returns the sum of all values.", True),
        ("Returns the sum of values.", False),  # five words
        ("Returns the (weighted) sum, of 'all' values; well-known: it can't.", True),
        ("returns the sum of all values.", False),
        ("Returns the sum of all values", False),
        ("Returns the sum of 3 values here.", False),
        ("Returns the sum of NumPy values here.", False),
        ("Returns the sum of all_values here now.", False),
        ("Returns the sum of all values e.g. ones.", False),
        (" ".join(["Sums", *["values"] * 15]) + ".", True),
        (" ".join(["Sums", *["values"] * 16]) + ".", False),
    ],
)
def test_plain_sentences_by_hand(sentence, plain):
    assert is_plain(sentence) is plain


def test_of_nearly_the_same_sentences_the_first_one_stays():
    one = "The quick brown fox jumps over the lazy dog and runs away into the forest."
    other = "Yet another line that speaks of sockets which wait for clients until a timeout."
    assert first_of_each([one, other, one.replace("forest", "woods"), one]) == [0, 1]


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """Two libraries of 60 files, each with two sentences of its own words; one that all files share."""
    made = (Library("apple", None, None), Library("pear", None, None))
    for library in made:
        (tmp_path / library.label).mkdir()
        for number in range(60):
            stem = library.label + chr(97 + number // 26) + chr(97 + number % 26)
            words = [stem + "abcdefghij"[place % 10] + "kl"[place // 10] for place in range(16)]
            texts = [f"Sums {' '.join(words[:8])}.", SHARED, f"It {' '.join(words[8:])}."]
            functions = "".join(f'def f{place}():\n  """{text}"""\n' for place, text in enumerate(texts))
            (tmp_path / library.label / f"m{number}.py").write_text(functions)
    monkeypatch.setattr(Library, "root", lambda self: tmp_path / self.label)
    monkeypatch.setattr(docstring_task, "LIBRARIES", made)
    return made


def test_sentences_do_not_leak_and_held_out_ones_come_first(libraries):
    sentences_by_split = harvest_sentences(400)
    assert sentences_by_split == harvest_sentences(400)
    sentences = [sentence for rows in sentences_by_split.values() for sentence, _ in rows]
    assert len(sentences) == len(set(sentences)) == 2 * 2 * 60 + 1
    assert SHARED in dict(sentences_by_split["test"])
    for library in libraries:
        for relative, path in find_sources(library):
            here = split_of(library.label, relative)
            rows = [text for text in read_docstrings(path.read_bytes()) if text != SHARED]
            assert all((text, library.label) in sentences_by_split[here] for text in rows)


def test_no_more_of_a_library_is_parsed_than_twice_its_share(libraries, monkeypatch):
    parsed = []
    monkeypatch.setattr(
        docstring_task, "read_docstrings", lambda source: parsed.append(source) or read_docstrings(source)
    )
    sentences_by_split = harvest_sentences(20)
    held = sum(split_of(library.label, name) != "train" for library in libraries for name, _ in find_sources(library))
    # Twice the share of 10, in files of three sentences each: seven of either library.
    assert len(parsed) == held + 2 * 7
    assert len(sentences_by_split["train"]) == 2 * 2 * 7


def test_as_many_rows_as_wanted(libraries):
    splits = DocstringTask(rows=40).splits()
    assert list(splits) == ["train", "validation", "test"]
    assert len(splits["train"]) == 40
    assert all(0 < len(splits[split]) <= 10 for split in ("validation", "test"))
    assert {type(row) for rows in splits.values() for row in rows} == {TextRow}
    assert {row.label for row in splits["train"]} == {INTACT, SWAPPED} == {*DocstringTask(rows=40).labels()}


def test_the_question_decides_about_the_labels(libraries):
    splits = DocstringTask(40, "library").splits()
    assert sorted({row.label for row in splits["train"]}) == DocstringTask(40, "library").labels() == ["apple", "pear"]
    # The words of these tell whose they are; the one that both hold is the first one's.
    assert all(row.label[:4] in row.text for rows in splits.values() for row in rows if row.text != SHARED)


def test_fingerprints_follow_the_options():
    DocstringTask().check()
    assert DocstringTask().fingerprint() == DocstringTask().fingerprint()
    assert DocstringTask(100).fingerprint() != DocstringTask().fingerprint()
    assert DocstringTask(question="library").fingerprint() != DocstringTask().fingerprint()
