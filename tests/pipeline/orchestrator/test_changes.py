import pytest

from pipeline.orchestrator.changes import Change, find_changes
from pipeline.orchestrator.records import Ingredients

OLD = Ingredients(
    component="m.step",
    inputs={"rows": "f1", "previous": None},
    parameters={"training": {"type": "Training", "epochs": 1.0}, "source": {"type": "File", "fingerprint": "s1"}},
    code="c1",
    libraries={"keras": "3.14"},
    python="3.11",
    modules={"m": "d1", "n": "d2"},
    files={"source": {"a.txt": "x", "b.txt": "y"}},
)


def parameters(epochs=1.0, source="s1"):
    return {"training": {"type": "Training", "epochs": epochs}, "source": {"type": "File", "fingerprint": source}}


def test_the_same_has_no_changes():
    assert find_changes(OLD, OLD._replace(parameters=parameters())) == []


@pytest.mark.parametrize(
    ("new", "changes"),
    [
        ({"parameters": parameters(epochs=2.0)}, [("setting", "training.epochs", 1.0, 2.0)]),
        (
            {"component": "m.pretrain", "parameters": parameters(epochs=2.0)},
            [("setting", "pretraining.epochs", 1.0, 2.0), ("component", "", "m.step", "m.pretrain")],
        ),
        (
            {"parameters": {"source": parameters()["source"]}},
            [("setting", "training.type", "Training", None), ("setting", "training.epochs", 1.0, None)],
        ),
        (
            {"inputs": {"rows": "f2", "previous": "f3"}},
            [("input", "rows", "f1", "f2"), ("input", "previous", None, "f3")],
        ),
        (
            {"code": "c2", "modules": {"m": "d1", "n": "d3", "o": "d4"}},
            [("module", "n", "d2", "d3"), ("module", "o", None, "d4")],
        ),
        ({"libraries": {"keras": "3.15"}}, [("library", "keras", "3.14", "3.15")]),
        ({"python": "3.12"}, [("python", "", "3.11", "3.12")]),
        ({"component": "o.step"}, [("component", "", "m.step", "o.step")]),
        # The digest of a source is told by its files, where they tell it.
        (
            {"parameters": parameters(source="s2"), "files": {"source": {"a.txt": "x", "b.txt": "z", "c.txt": "w"}}},
            [("file", "b.txt", "y", "z"), ("file", "c.txt", None, "w")],
        ),
        ({"parameters": parameters(source="s2")}, [("setting", "source.fingerprint", "s1", "s2")]),
    ],
)
def test_changes_are_named(new, changes):
    assert find_changes(OLD, OLD._replace(**new)) == [Change(*change) for change in changes]
