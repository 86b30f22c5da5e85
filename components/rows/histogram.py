"""Histograms of whole numbers, without NumPy: reports draw them, too."""

from typing import Any

_BARS = 16


def bars(counts: list[int]) -> list[list[Any]]:
    """A histogram of about 16 bars at most, [[`from` or `from-to`, count], ...]; item n of `counts` counts n."""
    used = [number for number, count in enumerate(counts) if count]
    if not used:
        return []
    low, high = used[0], used[-1]
    width = -(-(high - low + 1) // _BARS)
    starts = range(low, high + 1, width)
    ends = [min(start + width - 1, high) for start in starts]
    return [
        [str(start) if start == end else f"{start}-{end}", sum(counts[start : end + 1])]
        for start, end in zip(starts, ends, strict=True)
    ]
