"""Paired differences against numbers worked out by hand, and against scipy."""

import math

import numpy as np
import pytest
import scipy.stats

from plugins.compare.differences import half_width, paired_difference, significant


def test_three_seeds_by_hand():
    # Differences 1, 2, 3: mean 2, standard deviation 1, standard error 1 / sqrt(3); t = 2 sqrt(3) = 3.464.
    difference = paired_difference([11.0, 22.0, 33.0], [10.0, 20.0, 30.0])
    # With two degrees of freedom the distribution of t is 1/2 + t / (2 sqrt(2 + t^2)), and its 0.975 is at 4.30265.
    assert difference.mean == pytest.approx(2.0)
    assert difference.p == pytest.approx(1 - 2 * math.sqrt(3) / math.sqrt(2 + 12))
    assert (difference.low, difference.high) == pytest.approx(
        (2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3))
    )


def test_two_seeds_by_hand():
    # With one degree of freedom it is Cauchy's distribution, whose 0.975 is at tan(0.475 pi) = 12.7062.
    difference = paired_difference([3.0, 5.0], [2.0, 2.0])
    assert (difference.mean, difference.p) == pytest.approx((2.0, 1 - 2 / math.pi * math.atan(2.0)))
    assert (difference.low, difference.high) == pytest.approx((2 - 12.70620, 2 + 12.70620))


@pytest.mark.parametrize("seeds", [2, 3, 5, 20])
def test_against_scipy(seeds):
    chance = np.random.default_rng(seeds)
    values, baseline = chance.normal(0.82, 0.01, seeds), chance.normal(0.8, 0.01, seeds)
    difference, expected = paired_difference(values, baseline), scipy.stats.ttest_rel(values, baseline)
    assert difference.p == pytest.approx(expected.pvalue)
    assert (difference.low, difference.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    sd = np.std(values - baseline, ddof=1)
    assert difference.high - difference.mean == pytest.approx(half_width(seeds) * sd)


@pytest.mark.parametrize(
    ("values", "baseline", "mean"),
    [([0.9], [0.8], 0.1), ([0.9, 0.8], [0.9, 0.8], 0.0), ([0.9, 0.8, 0.7], [0.8, 0.7, 0.6], 0.1)],
)
def test_without_a_spread_nothing_is_tested(values, baseline, mean):
    difference = paired_difference(values, baseline)
    assert difference.mean == pytest.approx(mean)
    assert difference[1:] == (None, None, None)


def test_of_several_tests_each_must_hold_against_those_that_are_left():
    # Against 0.05 / 4, / 3, / 2, / 1: the third is too large, and with it the fourth, which alone would do.
    assert significant({"a": 0.001, "b": 0.016, "c": 0.03, "d": 0.04}) == {"a", "b"}
    assert significant({"a": 0.03}) == {"a"}
    assert significant({"a": 0.03, "b": None}) == {"a"}, "what cannot be tested is no test"
    assert significant({"a": 0.03, "b": 0.2}) == set()
    assert significant({}) == set()
