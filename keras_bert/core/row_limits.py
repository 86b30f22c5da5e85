"""Limits of the number of rows in memory, by their length."""

# The row length, in tokens, for which the limits in this project are chosen: the maximum of BERT.
USUAL_LENGTH = 512


def rows_at_once(rows: int, length: int) -> int:
    """Reduces a number of rows whose longest has more than 512 tokens, so that the number of tokens stays the same."""
    return max(1, min(rows, rows * USUAL_LENGTH // max(length, 1)))
