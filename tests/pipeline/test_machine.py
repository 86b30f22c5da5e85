import pytest

from pipeline.machine import Machine, Need

SMALL = Need(1.0, 1e9)


def test_one_step_after_the_other_unless_cores_are_given():
    assert Machine().has_room(None, [])
    assert not Machine().has_room(SMALL, [SMALL])


@pytest.mark.parametrize(
    ("need", "running", "fits"),
    [
        (None, [], True),
        (Need(99.0, 1e15), [], True),
        (SMALL, [SMALL], True),
        (SMALL, [SMALL, SMALL], True),
        (SMALL, [SMALL, SMALL, SMALL], False),
        (Need(2.1, 1.0), [SMALL], False),
        (Need(0.1, 3.1e9), [SMALL], False),
        (Need(0.1, 3.0e9), [SMALL], True),
        (None, [SMALL], False),
        (SMALL, [None], False),
    ],
)
def test_steps_side_by_side_take_no_more_than_is_given(need, running, fits):
    assert Machine(cores=3.0, memory_gigabytes=4.0).has_room(need, running) == fits


def test_without_a_limit_memory_is_what_there_is():
    machine = Machine(cores=100.0)
    assert machine.has_room(SMALL, [Need(1.0, 1.0)])
    assert not machine.has_room(Need(1.0, 1e16), [SMALL])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cores": 0.0}, "Machine.cores must be positive, got 0.0"),
        ({"cores": 1.0, "memory_gigabytes": -1.0}, "Machine.memory_gigabytes must be positive, got -1.0"),
        (
            {"memory_gigabytes": 4.0},
            "Machine.memory_gigabytes must be left out without cores, as steps run one after the other, got 4.0",
        ),
        ({"retries": 101}, "Machine.retries must be at most 100, got 101"),
    ],
)
def test_limits_that_make_no_sense(settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Machine(**settings)
    assert str(error.value) == message
