"""Which of many cases that differ little are tried by every run of the tests, and which by a long one alone."""

import pytest


def long_but(always, cases):
    """The cases to parametrize by; those that are not `always` tried are marked as long."""
    return [case if case in always else pytest.param(case, marks=pytest.mark.long) for case in cases]
