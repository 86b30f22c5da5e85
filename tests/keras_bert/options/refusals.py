"""What every record of settings is asked: does it name what it refuses?"""

import re

import pytest


def check_refusal(kind, settings, message):
    """`message` is all of the error, but for the kind that stands before it."""
    with pytest.raises(ValueError, match=rf"^{kind.__name__}\.{re.escape(message)}$"):
        kind(**settings)
