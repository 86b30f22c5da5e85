"""Bars of equal width."""

from components.rows.histogram import bars


def test_bars_of_equal_width():
    assert bars([0, 0, 3, 0, 1]) == [["2", 3], ["3", 0], ["4", 1]]
    wide = bars([1] * 100)
    assert wide[0] == ["0-6", 7]
    assert wide[-1] == ["98-99", 2]
    assert sum(count for _, count in wide) == 100
    assert bars([0, 0]) == []
