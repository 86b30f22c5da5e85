import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_bert.tokenizers.double_array import build_double_array

KEYS = st.characters(min_codepoint=1, exclude_categories=["Cs"]).map(str.encode)
PREFIXES = st.tuples(KEYS, st.integers(1, 4)).map(lambda pair: pair[0][: pair[1]])


def look_up(units, key):
    """As `DartsCloneTrieWrapper` of tensorflow-text does it; None where there is no value."""
    place, unit = 0, int(units[0])
    for byte in key:
        place ^= (unit >> 10) ^ byte
        unit = int(units[place])
        if unit & 0x800000FF != byte:
            return None
    return int(units[place ^ (unit >> 10)]) & 0x7FFFFFFF if unit & 0x100 else None


@given(st.dictionaries(st.one_of(KEYS, PREFIXES), st.integers(0, 2**31 - 1), min_size=1), st.lists(KEYS))
def test_finds_what_it_was_given_and_nothing_else(values, others):
    units = build_double_array(values)
    assert units.dtype == np.uint32
    assert {key: look_up(units, key) for key in values} == values
    assert all(look_up(units, key) == values.get(key) for key in others)


@given(
    st.dictionaries(KEYS, st.integers(0, 2**31 - 1)),
    st.dictionaries(KEYS.filter(lambda key: len(key) > 1).map(lambda key: key[:-1]), st.integers(0, 2), min_size=1),
)
def test_a_block_stands_for_all_that_continue_its_key(values, blocks):
    continuing = {key + bytes([byte]): value for key, value in blocks.items() for byte in range(0x80, 0xC0)}
    for key in [*continuing, *blocks]:
        values.pop(key, None)
    units = build_double_array(values, blocks)
    expected = values | continuing
    assert {key: look_up(units, key) for key in expected} == expected
    assert all(look_up(units, key) == expected.get(key) for key in blocks)


def test_stores_equal_subtrees_once():
    many = {chr(place).encode(): 7 for place in range(0xF0000, 0xF8000)}
    assert len(build_double_array(many)) < 5 * 256
