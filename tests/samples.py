"""Which of many cases that differ little are tried by every run of the tests, and which by a long one alone."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def long_but(always: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases to parametrize by; those that are not `always` tried are marked as long."""
    return [case if case in always else pytest.param(case, marks=pytest.mark.long) for case in cases]
