"""The rules themselves are compared with their source by `tests/golden/code_points.py`; here what is told of many."""

import pytest

from keras_bert.tokenizers.unicode_rules import LATER_LOWER_CASE, normalize, stays


@pytest.mark.parametrize("lowercase", [True, False])
def test_blocks_that_stay_have_no_character_that_changes(lowercase: bool) -> None:
    blocks = [range(start, start + 64) for start in range(0, 0x20000, 64) if not 0xD800 <= start < 0xE000]
    staying = [block for block in blocks if stays(block, lowercase)]
    assert len(staying) > 0.5 * len(blocks)
    changed = [code for block in staying for code in block if normalize(code, lowercase) != chr(code)]
    assert changed == []


@pytest.mark.parametrize("code_point", [0, 0x41, 0xA0, 0xAD, 0xE9, 0x301, 0xFFFD, *list(LATER_LOWER_CASE)[:1]])
def test_one_that_changes_is_enough(code_point: int) -> None:
    assert not stays(range(code_point, code_point + 2), True)
