import numpy as np

from keras_bert.tasks.entities import Entity, decode


def test_entities_stand_in_the_text_with_their_accents():
    text = "Zoé Lee, Paris"
    tags, shares = ["I-person", "I-person", "O", "B-place"], np.array([0.5, 0.75, 1.0, 0.9])
    assert decode(text, tags, shares, np.array([0, 4, 7, 9]), np.array([3, 7, 8, 14])) == [
        Entity("person", "Zoé Lee", 0, 7, 0.625),
        Entity("place", "Paris", 9, 14, 0.9),
    ]
    accent = "Zoe\u0301\u0323!"
    assert decode(accent, ["B-person"], np.ones(1), np.array([0]), np.array([3])) == [
        Entity("person", accent[:5], 0, 5, 1.0)
    ]
