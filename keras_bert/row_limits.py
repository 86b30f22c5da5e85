"""How many rows may be in memory at once, however long they are."""

# Tokens of a row that the numbers of rows in this project are chosen for: BERT's longest.
USUAL_LENGTH = 512


def rows_at_once(rows: int, length: int) -> int:
    """As many rows, or fewer where they have more than 512 tokens, so that no more tokens are held than of `rows` such.

    Args:
        rows: of up to 512 tokens, at least 1.
        length: tokens of the longest row.
    """
    return max(1, min(rows, rows * USUAL_LENGTH // max(length, 1)))
