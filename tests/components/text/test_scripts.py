"""The scripts of texts."""

import pytest

from components.examples.row_traits import count_scripts


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("é A z!", {"Latin": 1.0}),
        ("дж ab", {"Cyrillic": 0.5, "Latin": 0.5}),
        ("力の", {"Han": 0.5, "Hiragana": 0.5}),
        ("123 !?", {}),
    ],
)
def test_shares_of_letters(text, scripts):
    assert count_scripts([text]) == scripts


def test_the_largest_share_comes_first():
    assert list(count_scripts(["да", "film", "нет"])) == ["Cyrillic", "Latin"]
