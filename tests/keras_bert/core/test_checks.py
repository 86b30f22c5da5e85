import pytest

from keras_bert.core.checks import check


def test_whole_numbers_may_be_larger_than_floats():
    check("owner", "field", True, "be at least 1", 10**400)


def test_the_error_names_owner_field_rule_and_value():
    with pytest.raises(ValueError, match=r"^Masking\.rate must be between 0 and 1, got '7'$"):
        check("Masking", "rate", False, "be between 0 and 1", "7")
