"""Which operations read an input."""

from keras_bert.export.rules.lite import find_reachable_operations

MAKERS = (
    ("Less", ["ids"], ["below"]),
    ("Add", ["ids", "size"], ["shifted"]),
    ("Cast", ["below"], ["chosen"]),
    ("Gather", ["table", "shifted"], ["vectors"]),
    ("Gather", ["others", "vectors"], ["far"]),
)


def test_an_input_goes_through_some_kinds_alone():
    assert list(find_reachable_operations("ids", MAKERS, frozenset(("Add", "Cast")))) == [0, 1, 3]
    assert list(find_reachable_operations("ids", MAKERS, frozenset(("Less", "Cast")))) == [0, 1, 2]
    assert not list(find_reachable_operations("mask", MAKERS, frozenset(("Add",))))
