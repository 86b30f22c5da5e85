import numpy as np
import pytest

from keras_bert.tasks.entities import Entity, are_entity_tags, decode


def test_entities_stand_in_the_text_with_their_accents():
    text = "Zoé Lee, Paris"
    tags, shares = ["I-person", "I-person", "O", "B-place"], np.array([0.5, 0.75, 1.0, 0.9])
    assert decode(text, tags, shares, np.array([0, 4, 7, 9]), np.array([3, 7, 8, 14])) == [
        Entity("person", "Zoé Lee", 0, 7, 0.625),
        Entity("place", "Paris", 9, 14, 0.9),
    ]


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("Zoe\u0301\u0323", 3),
        ("\u0935\u093f\u0937\u094d\u0923\u0941", 5),  # Vishnu, which ends with a vowel sign
        ("\u0e2d\u0e35", 1),  # a vowel above its letter, in Thai
        ("\u2764\ufe0f", 1),  # a variation selector
    ],
)
def test_an_entity_ends_with_the_marks_of_its_last_letter(name, covered):
    text = f"{name}!"
    assert decode(text, ["B-person"], np.ones(1), np.array([0]), np.array([covered])) == [
        Entity("person", name, 0, len(name), 1.0)
    ]


def test_tags_of_some_checkpoints_that_are_of_no_scheme_mark_no_entity():
    assert are_entity_tags(["0", "B-person", "I-person", "X", "[SEP]"])
    tags = ["B-person", "X", "0", "[SEP]", "I-person"]
    assert decode("a b c d e", tags, np.ones(5), np.arange(0, 10, 2), np.arange(1, 11, 2)) == [
        Entity("person", "a", 0, 1, 1.0),
        Entity("person", "e", 8, 9, 1.0),
    ]
