"""Steps of a training as work that is done: what is reported, and when nothing is."""

import dataclasses

import pytest

from components.training.progress import TrainingProgress, forward_work
from keras_bert.options.training import Training

TRAINING = Training(batch_size=8, epochs=1.0)
COMPILING = (0, 0, "compiling")


@dataclasses.dataclass
class FakeTrainer:
    """What `TrainingProgress` asks of a trainer."""

    steps: int
    fresh_step: int = 0
    training: Training = TRAINING


def reports(steps, fresh=(1,), first=1):
    """Step -> what is reported after it; in the steps of `fresh` a batch has a new shape."""
    lines = {}
    trainer = FakeTrainer(steps)
    progress = TrainingProgress(trainer, 48, 2, lambda *report: lines.update({step: report}))
    for step in range(first, steps + 1):
        trainer.fresh_step = step if step in fresh else trainer.fresh_step
        progress(step, steps, f"note {step}")
    return lines


def test_validations_are_work():
    assert forward_work(48, TRAINING) == pytest.approx(2)
    lines = reports(100)
    for step, done in ((49, 49), (50, 52), (99, 101), (100, 104)):
        assert lines[step][:2] == pytest.approx((done, 104))
        assert lines[step][2] == f"note {step}"


@pytest.mark.parametrize(
    ("fresh", "first", "compiling", "silent"),
    [
        ([1], 1, range(1, 6), [*range(7, 11)]),
        ([1, 2, 4], 1, range(1, 9), [*range(10, 14)]),
        # A new shape while the first steps are timed.
        ([1, 8], 1, [*range(1, 6), *range(8, 13)], [7, *range(14, 18)]),
        # A rare one later on.
        ([1, 40], 1, range(1, 6), [*range(7, 11)]),
        # A training that goes on.
        ([21], 21, range(21, 26), [*range(27, 31)]),
    ],
)
def test_the_pace_is_told_once_steps_were_timed_that_compiled_nothing(fresh, first, compiling, silent):
    lines = reports(60, fresh, first)
    assert [step for step in lines if lines[step] == COMPILING] == list(compiling)
    assert sorted(set(range(first, 61)) - set(lines)) == silent


def test_the_last_step_is_told_in_any_case():
    lines = reports(3)
    assert [*lines.values()][:2] == [COMPILING, COMPILING]
    assert lines[3] == (pytest.approx(7), pytest.approx(7), "note 3")
