import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.request import Request
from tests.pipeline.orchestrator import toy


@pytest.fixture
def pipeline() -> Pipeline:
    """write -> initial -> shout, and write -> join."""
    first = toy.write()
    letter = toy.initial(text=first.output(toy.Text))
    return Pipeline("toy", [toy.shout(text=letter.output(toy.Text)), toy.join(parts=[first.output(toy.Text)])])


def names(request: Request, pipeline: Pipeline) -> list[str]:
    request.check(pipeline)
    return [node.name for node in request.nodes(pipeline)]


def test_nothing_asks_for_all(pipeline: Pipeline) -> None:
    request = Request()
    assert sorted(names(request, pipeline)) == ["initial", "join", "shout", "write"]
    assert request.again(pipeline) == request.done(pipeline) == set()


def test_to_a_step(pipeline: Pipeline) -> None:
    assert names(Request(to="initial"), pipeline) == ["write", "initial"]


def test_from_a_step(pipeline: Pipeline) -> None:
    request = Request(since="initial")
    assert sorted(names(request, pipeline)) == ["initial", "join", "shout", "write"]
    assert request.again(pipeline) == {"initial", "shout"}
    assert request.done(pipeline) == {"write", "join"}


def test_from_one_step_to_another(pipeline: Pipeline) -> None:
    request = Request(since="initial", to="initial")
    assert request.again(pipeline) == {"initial"}
    assert request.done(pipeline) == {"write"}


def test_a_forced_step_is_not_one_that_must_be_done(pipeline: Pipeline) -> None:
    request = Request(since="shout", force=("write",))
    assert request.again(pipeline) == {"shout", "write"}
    assert request.done(pipeline) == {"initial", "join"}


@pytest.mark.parametrize(
    ("run_request", "message"),
    [
        (Request(to="initail"), "--to must name a step of the run, got 'initail'; did you mean 'initial'?"),
        (
            Request(since="join", to="initial"),
            "--from must name a step of the run, got 'join'; known: initial, write",
        ),
        (Request(force=("writ", "x")), "--force must name a step of the run, got 'writ'; did you mean 'write'?"),
    ],
)
def test_a_step_that_is_none(pipeline: Pipeline, run_request: Request, message: str) -> None:
    with pytest.raises(InputError) as error:
        run_request.check(pipeline)
    assert str(error.value) == message
