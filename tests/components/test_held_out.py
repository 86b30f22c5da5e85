import pytest

from components.base import InputError
from components.held_out import hold_out


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


def test_rows_of_nearly_equal_keys_stay_together():
    spellings = ("der Fluß", "DER  FLUSS ", "der\u00a0\uff26lu\u00adß")
    rows = [(f"{text}\0 {number}{' ' * place}", place) for number in range(20) for place, text in enumerate(spellings)]
    parts = hold_out(rows, ["validation", "test"], lambda row: row[0], "keys")
    numbers = {split: {row[0].partition("\0")[2].strip() for row in part} for split, part in parts.items()}
    assert {split: (len(part), len(numbers[split])) for split, part in parts.items()} == {
        "train": (48, 16),
        "validation": (6, 2),
        "test": (6, 2),
    }
    assert len(set().union(*numbers.values())) == 20
    assert parts == hold_out(rows[::-1], ["validation", "test"], lambda row: row[0], "keys")


def test_nearly_equal_keys_are_not_enough():
    rows = [(f"{name}{number}",) for name in ("key ", "KEY\u3000") for number in range(5)]
    with pytest.raises(InputError, match=r"at least 6 different contexts, got 5;"):
        hold_out(rows, ["test"], lambda row: row[0], "contexts")


def test_too_few_keys():
    rows = [(f"key {number % 5}",) for number in range(50)]
    with pytest.raises(InputError, match=r"taking a test part .* at least 6 different contexts, got 5; .* test file"):
        hold_out(rows, ["test"], lambda row: row[0], "contexts")
