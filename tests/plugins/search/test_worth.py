"""Scores of trials by the values of a setting."""

from plugins.search.space import Dimension
from plugins.search.study import Level, Trial, find_levels

RATE = "fine_tuning.learning_rate"


def trial(number, rate, score):
    return Trial(number, {RATE: rate}, "pruned" if score is None else "done", score, (), "", 2.0)


def test_a_range_has_three_parts_of_equal_ratio():
    dimension = Dimension.of(RATE, (1e-5, 1e-2), 1e-4)
    trials = [trial(1, 1e-5, 0.5), trial(2, 1e-4, 0.7), trial(3, 5e-4, None), trial(4, 1e-3, 0.9), trial(5, 1e-2, 0.1)]
    assert find_levels(dimension, trials) == [
        Level(1e-5, 1e-4, 2, 0, 0.6, 0.7),
        Level(1e-4, 1e-3, 1, 1, 0.9, 0.9),
        Level(1e-3, 1e-2, 1, 0, 0.1, 0.1),
    ]


def test_a_range_of_few_whole_numbers_has_as_many_parts_as_it_can():
    levels = find_levels(Dimension.of("fine_tuning.steps", (1, 2), 1), [])
    assert [(level.low, level.high, level.trials, level.mean) for level in levels] == [(1, 2, 0, None)]


def test_choices_stand_in_order_each_with_its_trials():
    size = Dimension.of("fine_tuning.batch_size", (32, 16), 32)
    trials = [
        Trial(1, {size.name: 16}, "done", 0.5, (), "", 2.0),
        Trial(2, {size.name: 32}, "rejected", None, (), "diverged", 1.0),
    ]
    assert find_levels(size, trials) == [Level(16, 16, 1, 0, 0.5, 0.5), Level(32, 32, 0, 1, None, None)]
