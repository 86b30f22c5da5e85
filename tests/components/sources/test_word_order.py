"""Sentences of docstrings, intact or with two words swapped: which are taken, and that no split tells about another."""

import collections

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sources import word_order
from components.sources.docstrings import Library, find_sources, read_docstrings, split_of
from components.sources.table import TextRow
from components.sources.word_order import (
    INTACT,
    SWAPPED,
    DocstringTask,
    first_of_each,
    harvest_sentences,
    is_plain,
    make_rows,
    swap_words,
)

WORDS = ("array", "Sums", "the", "a", "of", "can't", "well-known", "axes")
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
def test_plain_sentences_by_hand(sentence: str, plain: bool) -> None:
    assert is_plain(sentence) is plain


def test_two_neighbours_in_the_middle_change_places() -> None:
    # One place alone: the first word and the last one stay, and two that are alike are no swap.
    assert swap_words("Sums up the values.") == "Sums the up values."
    assert swap_words("Sums the The values all.") == "Sums the values The all."
    assert swap_words("Sums the The the all.") is None
    assert swap_words("Sums it.") is None
    # What stands around a word stays where it is.
    assert swap_words("Sums (up), 'the' values.") == "Sums (the), 'up' values."


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=16))
def test_a_swap_keeps_the_words_and_their_ends(words: list[str]) -> None:
    sentence = " ".join(words) + "."
    swapped = swap_words(sentence)
    middle = words[1:-1]
    if swapped is None:
        assert len({word.lower() for word in middle}) <= 1
        return
    found = swapped[:-1].split()
    (first, second) = (place for place in range(len(words)) if found[place] != words[place])
    assert (second, found[first], found[second]) == (first + 1, words[second], words[first])
    assert first > 0
    assert second < len(words) - 1
    assert swap_words(sentence) == swapped


def test_a_hash_of_the_sentence_decides_for_half_of_them() -> None:
    sentences = [f"Sums {first} and {second} of all values." for first in WORDS for second in WORDS]
    rows = list(make_rows(sentences))
    assert rows == list(make_rows(sentences))
    assert len(rows) == len(sentences)
    counts = collections.Counter(label for _, label in rows)
    assert min(counts[INTACT], counts[SWAPPED]) > 0.3 * len(rows)
    for sentence, (text, label) in zip(sentences, rows, strict=True):
        assert text == (sentence if label == INTACT else swap_words(sentence))
    assert list(make_rows(["Sums the the all."])) == []


def test_of_nearly_the_same_sentences_the_first_one_stays() -> None:
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
    monkeypatch.setattr(word_order, "LIBRARIES", made)
    return made


def test_sentences_do_not_leak_and_held_out_ones_come_first(libraries) -> None:
    found = harvest_sentences(400)
    assert found == harvest_sentences(400)
    sentences = [sentence for own in found.values() for sentence in own]
    assert len(sentences) == len(set(sentences)) == 2 * 2 * 60 + 1
    assert SHARED in found["test"]
    for library in libraries:
        for relative, path in find_sources(library):
            here = split_of(library.label, relative)
            own = [text for text in read_docstrings(path.read_bytes()) if text != SHARED]
            assert all(text in found[here] for text in own)


def test_no_more_of_a_library_is_parsed_than_twice_its_share(libraries, monkeypatch) -> None:
    parsed = []
    monkeypatch.setattr(word_order, "read_docstrings", lambda source: parsed.append(source) or read_docstrings(source))
    found = harvest_sentences(20)
    held = sum(split_of(library.label, name) != "train" for library in libraries for name, _ in find_sources(library))
    # Twice the share of 10, in files of three sentences each: seven of either library.
    assert len(parsed) == held + 2 * 7
    assert len(found["train"]) == 2 * 2 * 7


def test_as_many_rows_as_wanted(libraries) -> None:
    splits = DocstringTask(rows=40).splits()
    assert list(splits) == ["train", "validation", "test"]
    assert len(splits["train"]) == 40
    assert all(0 < len(splits[split]) <= 10 for split in ("validation", "test"))
    assert {type(row) for rows in splits.values() for row in rows} == {TextRow}
    assert {row.label for row in splits["train"]} == {INTACT, SWAPPED}


def test_fingerprints_follow_the_option() -> None:
    DocstringTask().check()
    assert DocstringTask().fingerprint() == DocstringTask().fingerprint()
    assert DocstringTask(100).fingerprint() != DocstringTask().fingerprint()


def test_the_number_of_rows_is_checked_on_creation() -> None:
    with pytest.raises(ValueError, match=r"DocstringTask\.rows must be at least 40, got 39"):
        DocstringTask(rows=39)
