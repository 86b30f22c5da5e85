import dataclasses
import enum
import pickle
from pathlib import Path
from typing import Any

import pytest

from components.dsl.artifact import Corpus, Vocabulary
from components.dsl.component import (
    Handle,
    Input,
    Latest,
    Local,
    Node,
    Output,
    Role,
    canonical,
    component,
    find_component,
    nearest,
)


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


def test_with_outputs_it_runs_at_once(tmp_path: Path) -> None:
    assert ingest(corpus=Corpus(tmp_path / "c"), text="words") is None
    learn(corpus=Corpus(tmp_path / "c"), vocabulary=Vocabulary(tmp_path / "v"), workers=4)
    made = Vocabulary(tmp_path / "v")
    assert made.file("vocab.txt").read_text() == "wor"
    assert made.manifest()["parameters"] == {
        "component": "learn",
        "options": {"type": "Options", "size": 3, "case": "lower"},
    }


def test_without_outputs_it_makes_a_node() -> None:
    corpus = ingest(text="words")
    node = learn(corpus=corpus.corpus, options=Options(size=2))
    assert isinstance(node, Node)
    assert node.values == {"options": Options(size=2), "workers": 1}
    assert node.inputs["extra"] is None
    assert isinstance(node.vocabulary, Handle)
    assert node.vocabulary.artifact is Vocabulary
    with pytest.raises(AttributeError, match=r"no output 'corpus', only \['vocabulary'\]"):
        _ = node.corpus


def test_latest_is_an_input() -> None:
    corpus = ingest(text="words")
    node = learn(corpus=corpus.corpus, extra=Latest(Corpus, besides=corpus.corpus))
    assert isinstance(node.inputs["extra"], Latest)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corpus": None, "option": 1}, "learn has no parameter 'option'; did you mean 'options'"),
        ({}, "learn needs input 'corpus'"),
        ({"corpus": None}, "learn.corpus takes a Corpus, got None"),
        ({"corpus": "folder"}, "learn.corpus takes a Corpus, got 'folder'"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        learn(**arguments)


def test_a_handle_of_another_type() -> None:
    vocabulary = learn(corpus=ingest(text="x").corpus).vocabulary
    with pytest.raises(TypeError, match=r"learn\.corpus takes a Corpus"):
        learn(corpus=vocabulary)


def test_outputs_must_be_empty_and_inputs_finished(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(FileExistsError, match=r"ingest\.corpus must be an empty folder"):
        ingest(corpus=Corpus(tmp_path), text="words")
    with pytest.raises(FileNotFoundError, match="is not a Corpus"):
        learn(corpus=Corpus(tmp_path), vocabulary=Vocabulary(tmp_path / "v"))


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


def test_what_has_no_canonical_form() -> None:
    with pytest.raises(TypeError, match="plain values and dataclasses, got <object"):
        canonical({"x": object()})


def test_nearest_known_name() -> None:
    assert nearest("sise", {"size": 1, "other": 2}) == "; did you mean 'size'?"
    assert nearest("zzz", ["size", "other"]) == "; known: other, size"
    many = [f"n{number:02}" for number in range(22)]
    assert nearest("zzz", many) == f"; known: {', '.join(many[:20])} and 2 more"
