"""The steps of a run as a drawing: layers from top to bottom, each step below all that it reads from.

After Sugiyama et al. 1981: layers by the longest path, an order within each by the mean place of neighbours, then
places as near to the neighbours' as the order lets them be. What a step makes runs down one line to all that read it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from pipeline.report.record import Record, Step, reads_of
from pipeline.views.loss_plot import spread
from pipeline.views.terminal import format_seconds

# In pixels of the drawing.
_HEIGHT, _BETWEEN, _GAP, _MARGIN = 42.0, 34.0, 18.0, 2.0
# Of a box: the least width, what a letter of a name and one of the line below take, and the room beside them.
_NARROWEST, _LETTER, _SMALL_LETTER, _PADDING = 130.0, 7.6, 6.5, 20.0
_SWEEPS = 12
# How much more a bend in a line counts than one at its ends.
_STRAIGHT = 8.0


class Box(NamedTuple):
    """A step: the middle of its top edge, its width, its state, what is written below its name, and what it reads."""

    name: str
    x: float
    y: float
    width: float
    state: str
    told: str
    reads: list[str]


class Drawing(NamedTuple):
    """All of it, in pixels: boxes, and lines as paths of SVG; `tips` are the lines that end at a box."""

    width: float
    height: float
    box_height: float
    boxes: list[Box]
    paths: list[str]
    tips: list[str]


# A step, or where a line passes a layer: the step that it comes from, and the layer.
Place = tuple[str, int]
Line = tuple[Place, Place]


def draw_steps(record: Record) -> Drawing:
    """The steps of a run and, where it did not come to its end, those of an earlier one that it did not reach."""
    told = {step.name: _tell(step) for step in record.steps} | dict.fromkeys(record.missed, ("missed", "not reached"))
    reads = {**reads_of(record.steps), **record.missed}
    layers = find_layers(reads)
    lines = find_lines(reads, layers)
    rows = order_rows(layers, lines)
    boxed = {name: max(_NARROWEST, *_lengths(name, told[name][1])) for name in layers}
    widths = {(name, row): boxed[name] if layers[name] == row else 0.0 for places in rows for name, row in places}
    across = place_rows(rows, lines, widths)
    left = min((across[place] - widths[place] / 2 for place in across), default=0.0) - _MARGIN
    right = max((across[place] + widths[place] / 2 for place in across), default=0.0) + _MARGIN
    tops = [_MARGIN + layer * (_HEIGHT + _BETWEEN) for layer in range(len(rows))]
    boxes = [
        Box(name, across[name, row] - left, tops[row], widths[name, row], *told[name], reads[name])
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
    """Step -> the length of the longest way to it; `reads` names each step after those that it reads from."""
    layers: dict[str, int] = {}
    for name, sources in reads.items():
        layers[name] = 1 + max((layers[source] for source in sources), default=-1)
    return layers


def find_lines(reads: Mapping[str, Sequence[str]], layers: Mapping[str, int]) -> list[Line]:
    """Lines from layer to layer; those of one source are one line for as long as they go the same way."""
    lines: dict[Line, None] = {}
    for name, sources in reads.items():
        for source in sources:
            way = [*((source, layer) for layer in range(layers[source], layers[name])), (name, layers[name])]
            lines |= dict.fromkeys(pairwise(way))
    return list(lines)


def order_rows(layers: Mapping[str, int], lines: Sequence[Line]) -> list[list[Place]]:
    """The places of each layer from left to right, so that few lines cross."""
    rows: list[list[Place]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for place in dict.fromkeys([*layers.items(), *(end for _, end in lines)]):
        rows[place[1]].append(place)
    best = [list(row) for row in rows]
    for sweep in range(_SWEEPS):
        near = _neighbours(lines, above=sweep % 2 == 0)
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            numbers = {place: float(number) for own in rows for number, place in enumerate(own)}
            row.sort(key=lambda place: _mean([numbers[own] for own in near[place]], numbers[place]))
        if count_crossings(rows, lines) < count_crossings(best, lines):
            best = [list(row) for row in rows]
    return best


def count_crossings(rows: Sequence[Sequence[Place]], lines: Sequence[Line]) -> int:
    """How many pairs of lines between two layers cross."""
    numbers = {place: number for row in rows for number, place in enumerate(row)}
    ends = [(start[1], numbers[start], numbers[end]) for start, end in lines]
    return sum(
        one[0] == other[0] and (one[1] - other[1]) * (one[2] - other[2]) < 0 for one, other in combinations(ends, 2)
    )


def place_rows(
    rows: Sequence[Sequence[Place]], lines: Sequence[Line], widths: Mapping[Place, float]
) -> dict[Place, float]:
    """The middle of each place: as near to those of its neighbours as the order and the widths let it be."""
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
            wanted = [_pull(place, [*above[place], *below[place]], across, widths) for place in row]
            # Middles that keep their distances are numbers that never fall.
            moved = spread([want - offsets[place] for want, place in zip(wanted, row, strict=True)], 0.0)
            across |= {place: move + offsets[place] for move, place in zip(moved, row, strict=True)}
    return across


def _pull(place: Place, near: Sequence[Place], across: Mapping[Place, float], widths: Mapping[Place, float]) -> float:
    """Where a place would be best; a line that passes several layers is to be straight there."""
    weights = [_STRAIGHT if widths[place] == widths[own] == 0 else 1.0 for own in near]
    pulled = sum(weight * across[own] for weight, own in zip(weights, near, strict=True))
    return pulled / sum(weights) if near else across[place]


def _neighbours(lines: Sequence[Line], *, above: bool) -> defaultdict[Place, list[Place]]:
    found: defaultdict[Place, list[Place]] = defaultdict(list)
    for start, end in lines:
        found[end if above else start].append(start if above else end)
    return found


def _lengths(name: str, told: str) -> tuple[float, float]:
    """What a name takes, and the line below it."""
    return _PADDING + _LETTER * len(name), _PADDING + _SMALL_LETTER * len(told)


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _tell(step: Step) -> tuple[str, str]:
    """The state of a step, and the line below its name."""
    if step.done.state == "cached" and step.made is not None:
        return "cached", f"cached, {format_seconds(step.made.seconds)} in run {step.made.run}"
    return step.done.state, f"{step.done.state}, {format_seconds(step.done.seconds)}"
