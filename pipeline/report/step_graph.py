"""Draws the steps of a run as a layered graph: every step is below the steps that it reads from.

After Sugiyama et al. 1981: the longest path gives the layer, the mean position of neighbours the order within a layer,
and positions are as near to the neighbours as that order allows. The outputs of a step share a line to its readers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from pipeline.report.record import RunRecord, RunStep, find_reads
from pipeline.views.loss_plot import spread
from pipeline.views.terminal import format_seconds

# In pixels of the drawing.
_HEIGHT, _BETWEEN, _GAP, _MARGIN = 42.0, 34.0, 18.0, 2.0
# Of a box: the least width, the width of a letter of the name and of the line below it, and the padding.
_NARROWEST, _LETTER, _SMALL_LETTER, _PADDING = 130.0, 7.6, 6.5, 20.0
_SWEEPS = 12
# The least scale on narrow pages, at which names can still be read; wider drawings scroll.
LEAST_SCALE = 0.72
# The weight of a bend within a line; a bend at its ends weighs 1.
_STRAIGHT = 8.0


class Box(NamedTuple):
    """A step in the drawing.

    Attributes:
        name: the name of the step.
        x: the middle of its top edge in pixels.
        y: its top edge in pixels.
        width: its width in pixels.
        state: the state of the step.
        note: the line below the name.
        reads: the steps whose outputs it reads.
    """

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


# A step and its layer; or a layer that a line passes, and the step where the line starts.
Place = tuple[str, int]
Curve = tuple[Place, Place]


def draw_steps(record: RunRecord) -> Drawing:
    """Draws the steps of a run, also those that it did not reach."""
    notes = {step.name: _describe_state(step) for step in record.steps}
    notes |= dict.fromkeys(record.missed, ("missed", "not reached"))
    reads = {**find_reads(record.steps), **record.missed}
    layers = find_layers(reads)
    lines = find_lines(reads, layers)
    rows = order_rows(layers, lines)
    boxed = {name: max(_NARROWEST, *_text_widths(name, notes[name][1])) for name in layers}
    widths = {(name, row): boxed[name] if layers[name] == row else 0.0 for places in rows for name, row in places}
    across = place_rows(rows, lines, widths)
    left = min((across[place] - widths[place] / 2 for place in across), default=0.0) - _MARGIN
    right = max((across[place] + widths[place] / 2 for place in across), default=0.0) + _MARGIN
    tops = [_MARGIN + layer * (_HEIGHT + _BETWEEN) for layer in range(len(rows))]
    boxes = [
        Box(name, across[name, row] - left, tops[row], widths[name, row], *notes[name], reads[name])
        for name, row in layers.items()
    ]
    paths: list[str] = []
    tips: list[str] = []
    for start, end in lines:
        x, y, to, top = across[start] - left, tops[start[1]] + _HEIGHT, across[end] - left, tops[end[1]]
        half = _BETWEEN / 2
        bend = f"M{x:.1f} {y:.1f}C{x:.1f} {y + half:.1f} {to:.1f} {top - half:.1f} {to:.1f} {top:.1f}"
        if end in layers.items():
            tips.append(bend)
        else:
            paths.append(f"{bend}v{_HEIGHT:.1f}")
    height = tops[-1] + _HEIGHT + _MARGIN if tops else 0.0
    return Drawing(right - left, height, _HEIGHT, boxes, paths, tips)


def find_layers(reads: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Step -> the length of the longest path to it; `reads` must have a step after the steps that it reads from."""
    layers: dict[str, int] = {}
    for name, sources in reads.items():
        layers[name] = 1 + max((layers[source] for source in sources), default=-1)
    return layers


def find_lines(reads: Mapping[str, Sequence[str]], layers: Mapping[str, int]) -> list[Curve]:
    """Lines from layer to layer; the lines of a step are one line as far as their way is the same."""
    lines: dict[Curve, None] = {}
    for name, sources in reads.items():
        for source in sources:
            path = [*((source, layer) for layer in range(layers[source], layers[name])), (name, layers[name])]
            lines |= dict.fromkeys(pairwise(path))
    return list(lines)


def order_rows(layers: Mapping[str, int], lines: Sequence[Curve]) -> list[list[Place]]:
    """Orders the places of every layer from left to right, so that few lines cross."""
    rows: list[list[Place]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for place in dict.fromkeys([*layers.items(), *(end for _, end in lines)]):
        rows[place[1]].append(place)
    best = [list(row) for row in rows]
    for sweep in range(_SWEEPS):
        near = _neighbours(lines, above=sweep % 2 == 0)
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            numbers = {place: float(number) for places in rows for number, place in enumerate(places)}
            row.sort(key=lambda place: _mean([numbers[neighbour] for neighbour in near[place]], numbers[place]))
        if count_crossings(rows, lines) < count_crossings(best, lines):
            best = [list(row) for row in rows]
    return best


def count_crossings(rows: Sequence[Sequence[Place]], lines: Sequence[Curve]) -> int:
    """Counts the pairs of lines between two layers that cross."""
    numbers = {place: number for row in rows for number, place in enumerate(row)}
    ends = [(start[1], numbers[start], numbers[end]) for start, end in lines]
    return sum(
        one[0] == other[0] and (one[1] - other[1]) * (one[2] - other[2]) < 0 for one, other in combinations(ends, 2)
    )


def place_rows(
    rows: Sequence[Sequence[Place]], lines: Sequence[Curve], widths: Mapping[Place, float]
) -> dict[Place, float]:
    """The middle of every place in pixels, as near to its neighbours as the order and the widths allow."""
    offsets: dict[Place, float] = {}
    for row in rows:
        offset = 0.0
        for before, place in zip([None, *row], row, strict=False):
            offset += 0.0 if before is None else (widths[before] + widths[place]) / 2 + _GAP
            offsets[place] = offset
    across = dict(offsets)
    above, below = _neighbours(lines, above=True), _neighbours(lines, above=False)
    for sweep in range(8 * _SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            targets = [_mean_neighbour(place, [*above[place], *below[place]], across, widths) for place in row]
            # Middles that keep their distances are ascending numbers once the offsets are subtracted.
            moved = spread([target - offsets[place] for target, place in zip(targets, row, strict=True)], 0.0)
            across |= {place: move + offsets[place] for move, place in zip(moved, row, strict=True)}
    return across


def _mean_neighbour(
    place: Place, near: Sequence[Place], across: Mapping[Place, float], widths: Mapping[Place, float]
) -> float:
    """The weighted mean position of the neighbours; the weights keep a line that passes several layers straight."""
    weights = [_STRAIGHT if widths[place] == widths[neighbour] == 0 else 1.0 for neighbour in near]
    total = sum(weight * across[neighbour] for weight, neighbour in zip(weights, near, strict=True))
    return total / sum(weights) if near else across[place]


def _neighbours(lines: Sequence[Curve], *, above: bool) -> defaultdict[Place, list[Place]]:
    neighbours: defaultdict[Place, list[Place]] = defaultdict(list)
    for start, end in lines:
        neighbours[end if above else start].append(start if above else end)
    return neighbours


def _text_widths(name: str, note: str) -> tuple[float, float]:
    """The width of a box that a name needs, and that the line below it needs."""
    return _PADDING + _LETTER * len(name), _PADDING + _SMALL_LETTER * len(note)


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _describe_state(step: RunStep) -> tuple[str, str]:
    """The state of a step, and the line below its name."""
    if step.done.state == "cached" and step.made is not None:
        return "cached", f"cached, {format_seconds(step.made.seconds)} in run {step.made.run}"
    return step.done.state, f"{step.done.state}, {format_seconds(step.done.seconds)}"
