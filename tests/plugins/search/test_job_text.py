"""Tables that are written as TOML are read as they were."""

import tomllib

import hypothesis
from hypothesis import strategies

from plugins.search.files import format_job

_KEYS = strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=5)
_VALUES = strategies.recursive(
    strategies.booleans()
    | strategies.integers(-(2**63), 2**63 - 1)
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(strategies.characters(exclude_categories=["Cs"])),
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)


@hypothesis.given(strategies.dictionaries(_KEYS, _VALUES, max_size=4))
def test_written_toml_is_read_back(tables):
    assert tomllib.loads(format_job(tables)) == tables
