"""Which operations read an input."""

from keras_bert.export.rules.reach import reached

MAKERS = (
    ("Less", ["ids"], ["below"]),
    ("Add", ["ids", "size"], ["shifted"]),
    ("Cast", ["below"], ["chosen"]),
    ("Gather", ["table", "shifted"], ["vectors"]),
    ("Gather", ["others", "vectors"], ["far"]),
)


def test_an_input_goes_through_some_kinds_alone():
    assert list(reached("ids", MAKERS, frozenset(("Add", "Cast")))) == [0, 1, 3]
    assert list(reached("ids", MAKERS, frozenset(("Less", "Cast")))) == [0, 1, 2]
    assert not list(reached("mask", MAKERS, frozenset(("Add",))))
