import hashlib
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.sources.shared import check_label, check_labels, digest, fingerprint_splits
from components.sources.table import TableSource

KINDS = (".csv", ".tsv")
TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


PARTS = st.lists(st.tuples(TEXT, TEXT), max_size=4)


def test_a_required_field_may_hold_anything_but_nothing():
    assert TableSource("rows.tsv", text=" ").text == " "
    with pytest.raises(ValueError, match=r"^TableSource\.text must not be empty, got ''$"):
        TableSource("rows.tsv", text="")


def test_splits_that_are_given_stand_in_their_order():
    assert TableSource("a").paths() == {"train": "a"}
    assert list(TableSource("a", "", "c").paths().items()) == [("train", "a"), ("validation", ""), ("test", "c")]
    assert list(TableSource("a", test="c").paths()) == ["train", "test"]


def test_labels_that_training_knows_are_taken():
    check_labels({"train": {"no", "yes"}, "validation": set(), "test": {"yes"}}, "rows.csv")
    for label in ("a\u2028b", "c\x85d", "e\tf"):
        check_label(label, "a.csv line 3")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"train": set()}, "rows.csv must hold at least 2 labels, got only []"),
        ({"train": {"ja"}, "test": {"nein"}}, "rows.csv must hold at least 2 labels, got only ['ja']"),
        (
            {"train": {"no", "yes"}, "validation": {"yess"}, "test": {"a"}},
            "validation has the label 'yess', which training never saw; did you mean 'yes'?",
        ),
        # The first in the order of the alphabet, whatever the order of the set.
        (
            {"test": {"straße", "q", "p", "no"}, "train": {"no", "yes"}},
            "test has the label 'p', which training never saw; known: no, yes",
        ),
        (
            {"train": {"Good", "Bad"}, "test": {"good"}},
            "test has the label 'good', which training never saw; did you mean 'Good'?",
        ),
    ],
)
def test_labels_that_cannot_be_learnt(labels, message):
    with pytest.raises(InputError) as error:
        check_labels(labels, "rows.csv")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("label", "rule"),
    [
        *((f"a{end}b", "hold no line feed, carriage return or NUL") for end in ("\n", "\r", "\r\n", "\0")),
        ("", "not be empty"),
    ],
)
def test_labels_that_are_no_line(label, rule):
    message = re.escape(f"a.csv line 3: column 'label' must {rule}, got {label!r}; rename it in the data")
    with pytest.raises(InputError, match=f"^{message}$"):
        check_label(label, "a.csv line 3: column 'label'")


def test_the_digest_by_hand():
    assert digest([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "the SHA-256 of nothing"
    # The SHA-256 of b"abc" is a test vector of FIPS 180-2.
    abc = b"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest([("é", "abc")]) == hashlib.sha256(b"\0\xc3\xa9\0" + abc).hexdigest()
    assert digest(part for part in [("é", "abc")]) == digest([("é", "abc")])


@settings(max_examples=50)
@given(st.lists(PARTS, min_size=2, max_size=5))
def test_what_differs_in_a_name_a_content_or_the_order_has_another_digest(lists):
    for first, second in itertools.combinations(lists, 2):
        assert (digest(first) == digest(second)) == (first == second)


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)


def test_a_single_file_may_have_any_name_in_any_folder(tmp_path):
    write(tmp_path / "one", a_csv="x")
    write(tmp_path / "two", b_csv="x", c_tsv="x", d_csv="y")
    before, renamed, kind, content = (
        fingerprint_splits("", {"train": str(tmp_path / name)}, KINDS)
        for name in ("one/a.csv", "two/b.csv", "two/c.tsv", "two/d.csv")
    )
    assert before == renamed, "neither name nor place"
    assert fingerprint_splits("", {"train": str(tmp_path / "one")}, KINDS) == before, "a folder of that file alone"
    assert len({before, kind, content}) == 3, "but the kind, which says how to read it, and the content"


def test_of_many_files_the_names_tell_which_is_which(tmp_path):
    write(tmp_path / "first", a_csv="x", b_csv="y", notes_txt="of no kind")
    write(tmp_path / "moved", a_csv="x", b_csv="y")
    write(tmp_path / "swapped", a_csv="y", b_csv="x")
    write(tmp_path / "renamed", a_csv="x", c_csv="y")
    first, moved, swapped, renamed = (
        fingerprint_splits("", {"train": str(tmp_path / name)}, KINDS)
        for name in ("first", "moved", "swapped", "renamed")
    )
    assert first == moved
    assert len({first, swapped, renamed}) == 3


def test_settings_and_the_names_of_splits_are_part_of_the_fingerprint(tmp_path):
    write(tmp_path, a_csv="x", b_csv="y")
    a, b = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    given_paths = [{"train": a}, {"train": a, "test": b}, {"train": a, "validation": b}, {"train": b, "test": a}]
    prints = [fingerprint_splits(settings, paths, KINDS) for settings in ("", "text=q") for paths in given_paths]
    assert len(set(prints)) == 8
    # A single file, by hand: of its content only the digest goes in.
    content = hashlib.sha256(b"x").hexdigest()
    assert prints[4] == digest([("settings", "text=q"), ("train/.csv", content)])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("c.csv", "the test data must be a file or a folder that exists, got {path}"),
        ("*.tsv", "the test data must be a pattern that matches a file, got {path}"),
        ("empty", "the test data must hold .csv, .tsv files, got none in the folder {path}"),
    ],
)
def test_a_split_without_files(tmp_path, name, message):
    write(tmp_path, a_csv="x")
    (tmp_path / "empty").mkdir()
    path = str(tmp_path / name)
    with pytest.raises(InputError) as error:
        fingerprint_splits("", {"train": str(tmp_path / "a.csv"), "test": path}, KINDS)
    assert str(error.value) == message.format(path=path)
