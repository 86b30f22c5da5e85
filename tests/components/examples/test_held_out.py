import pytest

from components.dsl.errors import InputError
from components.examples.held_out import hold_out


def test_rows_of_one_key_stay_together():
    rows = [(f"key {number % 20}", number) for number in range(100)]
    parts = hold_out(rows, ["validation", "test"], lambda row: row[0], "keys")
    assert {split: len({key for key, _ in part}) for split, part in parts.items()} == {
        "train": 16,
        "validation": 2,
        "test": 2,
    }
    assert sorted(row for part in parts.values() for row in part) == sorted(rows)
    assert parts == hold_out(rows[::-1], ["validation", "test"], lambda row: row[0], "keys")


def test_too_few_keys():
    rows = [(f"key {number % 5}",) for number in range(50)]
    with pytest.raises(InputError, match=r"taking a test part .* at least 6 different contexts, got 5; .* test file"):
        hold_out(rows, ["test"], lambda row: row[0], "contexts")
