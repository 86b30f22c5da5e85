from pathlib import Path

import pytest

from pipeline.orchestrator.graph import Pipeline
from tests.pipeline.orchestrator import toy


def test_collects_everything_behind_the_outputs_in_order():
    pipeline = Pipeline("toy", toy.succession("a", Path("kept")))
    assert [node.name for node in pipeline.nodes] == ["write", "shout", "compare", "crown"]


def test_steps_without_inputs_run_first():
    deep = toy.shout(text=toy.initial(text=toy.write().output(toy.Text)).output(toy.Text))
    shallow = toy.load(source=toy.File("x"))
    last = toy.compare(candidate=deep.output(toy.Text))
    pipeline = Pipeline("toy", [last, shallow])
    assert [node.name for node in pipeline.nodes] == ["write", "load", "initial", "shout", "compare"]


def test_shared_nodes_appear_once():
    first = toy.write()
    pipeline = Pipeline("toy", [toy.shout(text=first.output(toy.Text)), toy.initial(text=first.output(toy.Text))])
    assert [node.name for node in pipeline.nodes] == ["write", "shout", "initial"]


def test_names_must_be_unique():
    first, second = toy.write(value="a"), toy.write(value="b")
    with pytest.raises(ValueError, match="unique in pipeline 'toy', got 'write' twice"):
        Pipeline("toy", [first, second])
    second.name = "write_again"
    assert len(Pipeline("toy", [first, second]).nodes) == 2


def test_no_outputs():
    with pytest.raises(ValueError, match="at least one node"):
        Pipeline("toy", [])


def test_circle():
    first = toy.initial(text=toy.write().output(toy.Text))
    second = toy.shout(text=first.output(toy.Text))
    first.inputs["text"] = second.output(toy.Text)
    with pytest.raises(ValueError, match="must not depend on themselves, got"):
        Pipeline("toy", [second])
