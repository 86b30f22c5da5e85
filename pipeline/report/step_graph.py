"""Draws the steps of a run in rows by depth: every step is below the steps that it reads from.

A line to the next row leads straight to its step. A longer line passes the rows between in a lane on the right, which
all readers of a step share.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from pipeline.report.record import RunRecord, find_reads
from pipeline.views.terminal import format_seconds

# In pixels of the drawing.
_HEIGHT, _BETWEEN, _GAP, _MARGIN = 42.0, 34.0, 18.0, 2.0
# Of a box: the least width, the width of a letter of the name and of the line below it, and the padding.
_NARROWEST, _LETTER, _SMALL_LETTER, _PADDING = 130.0, 7.6, 6.5, 20.0
# The least scale on narrow pages, at which names can still be read; wider drawings scroll.
LEAST_SCALE = 0.72


class Box(NamedTuple):
    """A step in the drawing: `x` is the middle of its top edge, in pixels, and `note` the line below its name."""

    name: str
    x: float
    y: float
    width: float
    state: str
    note: str
    reads: list[str]


class Drawing(NamedTuple):
    """The drawing in pixels: boxes, and lines as SVG paths; `tips` are the lines that end at a box."""

    width: float
    height: float
    box_height: float
    boxes: list[Box]
    paths: list[str]
    tips: list[str]


def draw_steps(record: RunRecord) -> Drawing:
    """Draws the steps of a run, also those that it did not reach."""
    notes = dict.fromkeys(record.missed, ("missed", "not reached"))
    for step in record.steps:
        notes[step.name] = step.done.state, f"{step.done.state}, {format_seconds(step.done.seconds)}"
        if step.done.state == "cached" and step.made is not None:
            notes[step.name] = "cached", f"cached, {format_seconds(step.made.seconds)} in run {step.made.run}"
    reads = {**find_reads(record.steps), **record.missed}
    depths = find_depths(reads)
    widths = {
        name: max(_NARROWEST, _PADDING + _LETTER * len(name), _PADDING + _SMALL_LETTER * len(notes[name][1]))
        for name in depths
    }
    rows = [[name for name in depths if depths[name] == depth] for depth in sorted(set(depths.values()))]
    room = max((sum(widths[name] + _GAP for name in row) - _GAP for row in rows), default=0.0)
    boxes: dict[str, Box] = {}
    for depth, row in enumerate(rows):
        # Below what they read from, as far as the order within a row can tell.
        row.sort(key=lambda name: fmean([boxes[source].x for source in reads[name]] or [0.0]))
        left = _MARGIN + (room - sum(widths[name] + _GAP for name in row) + _GAP) / 2
        for name in row:
            y = _MARGIN + depth * (_HEIGHT + _BETWEEN)
            boxes[name] = Box(name, left + widths[name] / 2, y, widths[name], *notes[name], reads[name])
            left += widths[name] + _GAP
    far = [(source, name) for name in depths for source in reads[name] if depths[name] > depths[source] + 1]
    lanes = {source: _MARGIN + room + number * _GAP for number, source in enumerate(dict(far), start=1)}
    tips = [
        _bend(boxes[source].x, boxes[name].x, boxes[name].y)
        for name in depths
        for source in reads[name]
        if (source, name) not in far
    ]
    tips += [_bend(lanes[source], boxes[name].x, boxes[name].y) for source, name in far]
    ends = {source: max(boxes[name].y for start, name in far if start == source) for source in lanes}
    paths = [
        f"{_bend(boxes[source].x, lane, boxes[source].y + _HEIGHT + _BETWEEN)}V{ends[source] - _BETWEEN:.1f}"
        for source, lane in lanes.items()
    ]
    right = max(lanes.values(), default=_MARGIN + room) + _MARGIN
    height = _MARGIN + len(rows) * (_HEIGHT + _BETWEEN) - _BETWEEN + _MARGIN if rows else 0.0
    return Drawing(right, height, _HEIGHT, [boxes[name] for name in depths], paths, tips)


def find_depths(reads: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Step -> the length of the longest path to it; `reads` must have a step after the steps that it reads from."""
    depths: dict[str, int] = {}
    for name, sources in reads.items():
        depths[name] = 1 + max((depths[source] for source in sources), default=-1)
    return depths


def _bend(x: float, to: float, bottom: float) -> str:
    """A line through the space between two rows, whose lower row begins at `bottom`."""
    top, middle = bottom - _BETWEEN, bottom - _BETWEEN / 2
    return f"M{x:.1f} {top:.1f}C{x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {bottom:.1f}"
