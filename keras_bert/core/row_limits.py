"""Lengths of rows: the limits of their number in memory, and the lengths that batches are padded to."""

# The row length, in tokens, for which the limits in this project are chosen: the maximum of BERT.
USUAL_LENGTH = 512

# Rows are batched with rows of about their length, as padding costs as much as tokens. Each length is compiled
# separately, which takes seconds, so there are few.
LENGTH_BUCKETS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144)


def limit_batch_size(rows: int, length: int) -> int:
    """Reduces a number of rows whose longest has more than 512 tokens, so that the number of tokens stays the same."""
    return max(1, min(rows, rows * USUAL_LENGTH // max(length, 1)))
