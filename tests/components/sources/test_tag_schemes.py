import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.sources.tag_schemes import find_tag_error, suggest_scheme, to_bio
from keras_bert.metrics.entities import Span, entities_of

SCHEMES = ["BIO", "IOB1", "IOBES", "BILOU"]
LETTERS = {"BIO": "BI", "IOB1": "BI", "IOBES": "BIES", "BILOU": "BILU"}


def write(scheme, spans, length):
    """The tags of entities in the words of each scheme's authors, entity by entity."""
    tags = ["O"] * length
    for number, (label, start, end) in enumerate(spans):
        inner = ["I"] * (end - start)
        if scheme == "BIO":
            inner[0] = "B"
        elif scheme == "IOB1":
            before = spans[number - 1] if number else None
            inner[0] = "B" if before and before.end == start and before.label == label else "I"
        else:
            last, only = scheme[3:] if scheme == "IOBES" else scheme[2] + scheme[4]
            inner[0], inner[-1] = ("B", last) if end - start > 1 else (only, only)
        tags[start:end] = [f"{letter}-{label}" for letter in inner]
    return tags


@st.composite
def entities(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Some entities that do not overlap, many of them side by side, and the number of words."""
    spans, place = [], draw(st.integers(0, 2))
    runs = st.tuples(st.sampled_from(["x", "y-z"]), st.integers(1, 4), st.integers(0, 2))
    for label, words, gap in draw(st.lists(runs)):
        spans.append(Span(label, place, place + words))
        place += words + gap
    return spans, place + draw(st.integers(0, 2))


@given(entities(), st.sampled_from(SCHEMES))
def test_entities_come_back_from_every_scheme(actual_entities, scheme):
    spans, length = actual_entities
    tags = write(scheme, spans, length)
    assert find_tag_error(tags, scheme) is None
    assert list(to_bio(tags)) == write("BIO", spans, length)
    assert entities_of(to_bio(tags), "iob2") == spans


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_right_is_nothing_but_what_entities_are_written_as(scheme, data):
    tag = st.just("O") | st.builds("{}-{}".format, st.sampled_from(LETTERS[scheme]), st.sampled_from("xy"))
    tags = data.draw(st.lists(tag, max_size=5))
    error = find_tag_error(tags, scheme)
    assert (error is None) == (write(scheme, entities_of(to_bio(tags)), len(tags)) == tags)
    assert error is None or 0 <= error[0] < len(tags)


@pytest.mark.parametrize(
    ("scheme", "tags", "error"),
    [
        ("BIO", "O B-x I-x I-x B-x B-y O", None),
        ("BIO", "I-x", (0, "the tag 'I-x' must follow B-x or I-x, got 'O' before it")),
        ("BIO", "B-x O I-x", (2, "the tag 'I-x' must follow B-x or I-x, got 'O' before it")),
        ("BIO", "B-x I-y", (1, "the tag 'I-y' must follow B-y or I-y, got 'B-x' before it")),
        ("BIO", "I-x\x07y", (0, r"the tag 'I-x\x07y' must follow B-x\x07y or I-x\x07y, got 'O' before it")),
        ("BIO", "O NOUN", (1, "the tag must be O, or B- or I- with a type, got 'NOUN'")),
        ("BIO", "B-", (0, "the tag must be O, or B- or I- with a type, got 'B-'")),
        ("BIO", "B", (0, "the tag must be O, or B- or I- with a type, got 'B'")),
        ("BIO", "S-x", (0, "the tag must be O, or B- or I- with a type, got 'S-x'")),
        ("IOB1", "I-x I-x B-x I-x I-y O I-x", None),
        ("IOB1", "O B-x", (1, "the tag 'B-x' must follow B-x or I-x, got 'O' before it")),
        ("IOB1", "I-y B-x", (1, "the tag 'B-x' must follow B-x or I-x, got 'I-y' before it")),
        ("IOBES", "S-x B-x I-x E-x S-y O B-y E-y", None),
        ("BILOU", "U-x B-x I-x L-x U-y O B-y L-y", None),
        ("BILOU", "S-x B-x E-x", None),
        ("IOBES", "E-x", (0, "the tag 'E-x' must follow B-x or I-x, got 'O' before it")),
        ("IOBES", "S-x I-x", (1, "the tag 'I-x' must follow B-x or I-x, got 'S-x' before it")),
        ("IOBES", "B-x E-y", (1, "the tag 'E-y' must follow B-y or I-y, got 'B-x' before it")),
        ("IOBES", "B-x O", (0, "the tag 'B-x' must be followed by I-x or E-x or L-x, got 'O' behind it")),
        ("BILOU", "O B-x I-x", (2, "the tag 'I-x' must be followed by I-x or E-x or L-x, got the end of the sentence")),
        ("BILOU", "X-x", (0, "the tag must be O, or B-, I-, E-, S-, L- or U- with a type, got 'X-x'")),
    ],
)
def test_the_rules_of_the_schemes(scheme, tags, error):
    assert find_tag_error(tags.split(), scheme) == error


@pytest.mark.parametrize(
    ("scheme", "sentences", "name"),
    [
        ("BIO", ["I-x I-x B-x O", "O I-y"], "IOB1"),
        ("BIO", ["S-x O", "B-y E-y"], "IOBES"),
        ("BIO", ["U-x O", "B-y L-y"], "BILOU"),
        ("IOB1", ["B-x I-x O"], "BIO"),
        ("IOBES", ["B-x I-x O"], "BIO"),
    ],
)
def test_the_scheme_in_which_all_tags_are_right_is_named(scheme, sentences, name):
    hint = suggest_scheme([tags.split() for tags in sentences], scheme)
    assert hint == f'; the tags look like {name}: set scheme = "{name}"'


def test_a_scheme_is_named_only_if_all_tags_are_right_in_it():
    assert suggest_scheme([["I-x", "O"], ["O", "B-x"]], "BIO") == ""
    assert suggest_scheme([["B", "O"]], "BIO") == ""
    assert suggest_scheme([["DET", "NN-TL"], ["."]], "BIO") == '; the tags look like no entities: set scheme = "any"'
    names = "; the tags are whole numbers: put the names that they stand for in their place, as O and B-PER"
    assert suggest_scheme([["3", "0"], ["12"]], "BIO") == names
