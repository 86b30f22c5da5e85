import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.request import Request
from tests.pipeline.orchestrator import toy


@pytest.fixture
def pipeline():
    """write -> initial -> shout, and write -> join."""
    first = toy.write()
    letter = toy.initial(text=first.output(toy.Text))
    return Pipeline("toy", [toy.shout(text=letter.output(toy.Text)), toy.join(parts=[first.output(toy.Text)])])


ALL = ["write", "initial", "join", "shout"]


@pytest.mark.parametrize(
    ("run_request", "names", "again", "done"),
    [
        (Request(), ALL, set(), set()),
        (Request(to="initial"), ["write", "initial"], set(), set()),
        (Request(since="initial"), ALL, {"initial", "shout"}, {"write", "join"}),
        (Request(since="initial", to="initial"), ["write", "initial"], {"initial"}, {"write"}),
        # A forced step is not one that must be done.
        (Request(since="shout", force=("write",)), ALL, {"shout", "write"}, {"initial", "join"}),
    ],
)
def test_steps_that_are_asked_for(pipeline, run_request, names, again, done):
    run_request.check(pipeline)
    assert [node.name for node in run_request.nodes(pipeline)] == names
    assert (run_request.again(pipeline), run_request.done(pipeline)) == (again, done)


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
def test_a_step_that_is_none(pipeline, run_request, message):
    with pytest.raises(InputError) as error:
        run_request.check(pipeline)
    assert str(error.value) == message
