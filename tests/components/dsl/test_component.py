import dataclasses
import enum
import pickle
from pathlib import Path
from typing import Any

import pytest

from components.artifacts.standard import Corpus, Vocabulary
from components.dsl.canonical import canonical
from components.dsl.component import Handle, Input, Local, Node, Output, Role, component, find_component
from components.dsl.errors import nearest


class Case(enum.Enum):
    LOWER = "lower"


@dataclasses.dataclass(frozen=True)
class Options:
    size: int = 3
    case: Case = Case.LOWER


@component(libraries=("pytest",))
def learn(
    corpus: Input[Corpus],
    vocabulary: Output[Vocabulary],
    extra: Input[Corpus] | None = None,
    options: Options = Options(),
    workers: Local[int] = 1,
) -> None:
    """Learns words."""
    vocabulary.file("vocab.txt").write_text(corpus.file("a.txt").read_text()[: options.size])


@component()
def ingest(corpus: Output[Corpus], text: str) -> None:
    corpus.file("a.txt").write_text(text)


def test_the_signature_is_the_specification() -> None:
    roles = {name: parameter.role for name, parameter in learn.parameters.items()}
    assert roles == {
        "corpus": Role.INPUT,
        "vocabulary": Role.OUTPUT,
        "extra": Role.INPUT,
        "options": Role.PARAMETER,
        "workers": Role.LOCAL,
    }
    assert learn.parameters["extra"].optional
    assert not learn.parameters["corpus"].optional
    assert learn.parameters["corpus"].artifact is Corpus
    assert list(learn.of_role(Role.OUTPUT)) == ["vocabulary"]
    assert (learn.name, learn.libraries, learn.__doc__) == ("learn", ("pytest",), "Learns words.")


def test_run_makes_the_outputs_at_once(tmp_path: Path) -> None:
    ingest.run(corpus=Corpus(tmp_path / "c"), text="words")
    learn.run(corpus=Corpus(tmp_path / "c"), vocabulary=Vocabulary(tmp_path / "v"), workers=4)
    made = Vocabulary(tmp_path / "v")
    assert made.file("vocab.txt").read_text() == "wor"
    assert made.manifest()["parameters"] == {
        "component": "learn",
        "options": {"type": "Options", "size": 3, "case": "lower"},
    }


def test_a_call_makes_a_node() -> None:
    corpus = ingest(text="words")
    node = learn(corpus=corpus.output(Corpus), options=Options(size=2))
    assert isinstance(node, Node)
    assert node.values == {"options": Options(size=2), "workers": 1}
    assert node.inputs["extra"] is None
    handle = node.output(Vocabulary)
    assert isinstance(handle, Handle)
    assert (handle.node, handle.name, handle.artifact) == (node, "vocabulary", Vocabulary)
    with pytest.raises(TypeError, match=r"Node\('learn'\) must have one output of type Corpus, got vocabulary: Vocabu"):
        node.output(Corpus)


@component()
def halve(corpus: Input[Corpus], first: Output[Corpus], second: Output[Corpus]) -> None: ...


def test_an_output_that_is_one_of_two_of_its_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must have one output of type Corpus, got first: Corpus, second: Corpus"):
        halve(corpus=ingest(text="x").output(Corpus)).output(Corpus)


def test_a_call_with_an_output_points_to_run(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"ingest must be wired without outputs, got \['corpus'\]; .* use \.run"):
        ingest(corpus=Corpus(tmp_path), text="words")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corpus": None, "option": 1}, "learn has no parameter 'option'; did you mean 'options'"),
        ({}, "learn needs input 'corpus'"),
        ({"corpus": None}, "learn.corpus takes a Corpus, got None"),
        ({"corpus": "folder"}, "learn.corpus takes a Corpus, got 'folder'"),
    ],
)
def test_refuses_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        learn(**arguments)


def test_a_handle_of_another_type() -> None:
    vocabulary = learn(corpus=ingest(text="x").output(Corpus)).output(Vocabulary)
    with pytest.raises(TypeError, match=r"learn\.corpus takes a Corpus"):
        learn(corpus=vocabulary)


def test_outputs_must_be_empty_and_inputs_finished(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(FileExistsError, match=r"ingest\.corpus must be an empty folder"):
        ingest.run(corpus=Corpus(tmp_path), text="words")
    with pytest.raises(FileNotFoundError, match="is not a Corpus"):
        learn.run(corpus=Corpus(tmp_path), vocabulary=Vocabulary(tmp_path / "v"))


def test_artifacts_need_a_role() -> None:
    def wrong(corpus: Corpus) -> None: ...

    with pytest.raises(TypeError, match=r"wrong\.corpus: Input\[\.\.\.\] and Output\[\.\.\.\] go with artifacts"):
        component()(wrong)


def test_a_component_travels_by_name() -> None:
    assert pickle.loads(pickle.dumps(learn)) is learn
    assert find_component(__name__, "ingest") is ingest
    with pytest.raises(TypeError, match="is not a component"):
        find_component(__name__, "Options")


class Folder:
    def fingerprint(self) -> str:
        return "abc"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Options(), {"type": "Options", "size": 3, "case": "lower"}),
        (Folder(), {"type": "Folder", "fingerprint": "abc"}),
        ((1, 2.5, None, True, "x"), [1, 2.5, None, True, "x"]),
        ({"b": 1, "a": Path("p")}, {"a": "p", "b": 1}),
    ],
)
def test_canonical_values(value: Any, expected: Any) -> None:
    assert canonical(value) == expected


def test_refuses_objects_without_canonical_form() -> None:
    with pytest.raises(TypeError, match="plain values and dataclasses, got <object"):
        canonical({"x": object()})


def test_nearest_known_name() -> None:
    assert nearest("sise", {"size": 1, "other": 2}) == "; did you mean 'size'?"
    assert nearest("zzz", ["size", "other"]) == "; known: other, size"
    many = [f"n{number:02}" for number in range(22)]
    assert nearest("zzz", many) == f"; known: {', '.join(many[:20])} and 2 more"


@component()
def merge(parts: Input[list[Corpus]], whole: Output[Corpus]) -> None:
    whole.file("a.txt").write_text("".join(part.file("a.txt").read_text() for part in parts))


def test_an_input_may_be_a_list(tmp_path: Path) -> None:
    assert merge.parameters["parts"].many
    assert merge.parameters["parts"].artifact is Corpus
    parts = [Corpus(tmp_path / name) for name in "xy"]
    for part in parts:
        ingest.run(corpus=part, text=part.path.name)
    merge.run(parts=parts, whole=Corpus(tmp_path / "whole"))
    assert Corpus(tmp_path / "whole").file("a.txt").read_text() == "xy"
    nodes = [ingest(text=text) for text in "xy"]
    node = merge(parts=[one_node.output(Corpus) for one_node in nodes])
    assert list(node.slots()) == ["parts[0]", "parts[1]"]
    assert node.gather({"parts[0]": 1, "parts[1]": 2}) == {"parts": [1, 2]}
    with pytest.raises(TypeError, match=r"merge.parts takes a list of Corpus, got Handle"):
        merge(parts=nodes[0].output(Corpus))
    with pytest.raises(TypeError, match=r"merge.parts takes a list of Corpus"):
        merge(parts=[nodes[0].output(Corpus), None])


def test_an_unfinished_folder_in_a_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a Corpus"):
        merge.run(parts=[Corpus(tmp_path / "nothing")], whole=Corpus(tmp_path / "whole"))
