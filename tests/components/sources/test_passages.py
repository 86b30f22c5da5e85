import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sources.passages import NEUTRAL, DocstringTask, blank_names, drop_duplicates, make_passages

NAMES = ["numpy", "NumPy", "Keras", "TensorFlow", "tensor-flow", "SciPy", "Python", "CPython", "np", "tf", "TF", "beam"]
OTHERS = ["spam", "hyperparameters", "input", "inputs", "Straße", "npy", "beaming", "stiff", "1", "library"]


@pytest.mark.parametrize(
    ("text", "blanked"),
    [
        ("", ""),
        ("Apache Beam, apache-beam and apache_beam", "library, library and library"),
        ("IPython and CPython", "library and library"),
        ("PyTorch and py_torch", "library and library"),
        # A name may be part of a word, an alias may not.
        ("KerasTensors of unkerased", "libraryTensors of unlibraryed"),
        ("inputs, snp, np1, np_x, 2np", "inputs, snp, library1, library_x, 2np"),
        ("TFX, TFRecord, TfLite, tfrecord", "library, libraryRecord, libraryLite, tfrecord"),
        # What stands for one thing in several words becomes one word.
        ("tf.keras.layers and tf - keras", "library.layers and library"),
        ("keras, numpy", "library, library"),
        ("numpys Größe: 文 of Keras", "librarys Größe: 文 of library"),
    ],
)
def test_names_by_hand(text: str, blanked: str) -> None:
    assert blank_names(text) == blanked


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(NAMES + OTHERS), max_size=12))
def test_words_that_are_names_go_and_all_others_stay(words: list[str]) -> None:
    neutral = [NEUTRAL if word in NAMES else word for word in words]
    # Neighbours that say the same thing are one.
    expected = [word for word, run in itertools.groupby(neutral) for word in ([word] if word == NEUTRAL else run)]
    assert blank_names(" ".join(words)) == " ".join(expected)
    assert blank_names(" ".join(expected)) == " ".join(expected)


def words(count: int, start: int = 0) -> list[str]:
    return [f"w{number}" for number in range(start, start + count)]


@pytest.mark.parametrize(
    ("sizes", "passages"),
    [
        ([], []),
        ([0, 11], []),
        ([12], [12]),
        # From 25 words on a passage is long enough; what is left at the end has at least 12.
        ([24, 1, 12], [25, 12]),
        ([25, 11], [25]),
        ([5, 30, 3, 8, 1], [35, 12]),
        ([100], [100]),
        ([101], [100]),
        ([24, 300, 25], [100, 25]),
    ],
)
def test_paragraphs_are_joined_until_there_are_enough_words(sizes: list[int], passages: list[int]) -> None:
    found = list(make_passages(" ".join(words(size)) for size in sizes))
    assert [len(passage.split()) for passage in found] == passages


@pytest.mark.parametrize("stop", [".", "!", "?"])
def test_a_long_passage_ends_where_its_last_whole_sentence_does(stop: str) -> None:
    text = " ".join([*words(60), f"end{stop}", *words(80, 60)])
    assert list(make_passages([text])) == [" ".join([*words(60), f"end{stop}"])]
    # A stop inside of a word ends no sentence.
    inner = " ".join([*words(60), f"a{stop}b", *words(80, 60)])
    assert list(make_passages([inner])) == [" ".join([*words(60), f"a{stop}b", *words(39, 60)])]


PARAGRAPHS = st.lists(st.lists(st.sampled_from(["alpha", "beta.", "gamma!", "été", "e.g."]), max_size=130), max_size=6)


@settings(max_examples=50, deadline=None)
@given(PARAGRAPHS)
def test_passages_hold_the_words_in_their_order(paragraphs: list[list[str]]) -> None:
    found = [passage.split(" ") for passage in make_passages(" \n".join(each) for each in paragraphs)]
    assert all(len(passage) <= 100 for passage in found)
    rest = [word for paragraph in paragraphs for word in paragraph]
    for passage in found:
        place = next(place for place in range(len(rest)) if rest[place : place + len(passage)] == passage)
        rest = rest[place + len(passage) :]
    assert not found or found[0] == [word for paragraph in paragraphs for word in paragraph][: len(found[0])]
    if sum(map(len, paragraphs)) >= 12:
        assert found


def test_the_first_of_the_same_passages_stays_whatever_its_case_and_punctuation() -> None:
    rows = [
        ("train", "a", "Größe of one array, and of another one."),
        ("test", "a", "größe of ONE array and (of) another one"),
        ("train", "a", "short"),
        ("validation", "a", "Short!"),
        ("train", "a", "a text of its own that has nothing in common with what came before"),
    ]
    assert drop_duplicates(rows) == [rows[0], rows[2], rows[4]]


def test_a_passage_with_two_labels_is_dropped_with_all_its_copies() -> None:
    passage = "this stands in the documentation of both of them, word for word"
    rows = [(split, label, passage) for split, label in (("train", "a"), ("test", "b"), ("train", "a"))]
    assert drop_duplicates(rows) == []
    other = ("train", "b", "nothing of that kind is said here about anything else at all")
    assert drop_duplicates([*rows, other]) == [other]
    assert drop_duplicates([]) == []


def test_fingerprints_follow_the_option() -> None:
    DocstringTask().check()
    assert DocstringTask().fingerprint() == DocstringTask().fingerprint()
    assert DocstringTask(100).fingerprint() != DocstringTask().fingerprint()


def test_the_number_of_rows_is_checked_on_creation() -> None:
    with pytest.raises(ValueError, match=r"DocstringTask\.rows_per_label must be at least 8, got 1"):
        DocstringTask(rows_per_label=1)
