import pytest

from components.dsl.component import Latest
from pipeline.orchestrator.graph import Pipeline, sources_of
from tests.pipeline.orchestrator import toy


def test_collects_everything_behind_the_outputs_in_order() -> None:
    pipeline = Pipeline("toy", toy.succession("a"))
    assert [node.name for node in pipeline.nodes] == ["write", "shout", "compare", "crown"]


def test_what_needs_nothing_runs_first() -> None:
    deep = toy.shout(text=toy.initial(text=toy.write().text).letter)
    shallow = toy.load(source=toy.File("x"))
    last = toy.compare(candidate=deep.loud, previous=None)
    pipeline = Pipeline("toy", [last, shallow])
    assert [node.name for node in pipeline.nodes] == ["write", "load", "initial", "shout", "compare"]


def test_latest_waits_for_what_it_is_besides() -> None:
    besides = toy.write().text
    node = toy.compare(candidate=toy.load(source=toy.File("x")).text, previous=Latest(toy.Kept, besides))
    assert [handle.node.name for handle in sources_of(node)] == ["load", "write"]
    assert len(Pipeline("toy", [node]).nodes) == 3


def test_shared_nodes_appear_once() -> None:
    first = toy.write()
    pipeline = Pipeline("toy", [toy.shout(text=first.text), toy.initial(text=first.text)])
    assert [node.name for node in pipeline.nodes] == ["write", "shout", "initial"]


def test_names_must_be_unique() -> None:
    first, second = toy.write(value="a"), toy.write(value="b")
    with pytest.raises(ValueError, match="unique in pipeline 'toy', got 'write' twice"):
        Pipeline("toy", [first, second])
    second.name = "write_again"
    assert len(Pipeline("toy", [first, second]).nodes) == 2


def test_no_outputs() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        Pipeline("toy", [])


def test_circle() -> None:
    first = toy.initial(text=toy.write().text)
    second = toy.shout(text=first.letter)
    first.inputs["text"] = second.loud
    with pytest.raises(ValueError, match="must not depend on themselves, got"):
        Pipeline("toy", [second])
