"""Steps in layers: below all that they read, with few crossings, and apart from each other."""

from itertools import pairwise
from pathlib import Path

from pipeline.report.record import read_record
from pipeline.report.step_graph import count_crossings, draw_steps, find_layers, find_lines, order_rows, place_rows
from tests.pipeline.report.made_up import Root, node

READS = {"a": [], "b": [], "c": ["a"], "d": ["a", "c"], "e": ["a", "b", "d"]}
MAKES = {"out": "Text"}


def test_each_step_is_one_layer_below_the_deepest_that_it_reads() -> None:
    assert find_layers(READS) == {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3}


def test_lines_of_one_source_are_one_line_as_long_as_they_can() -> None:
    lines = find_lines(READS, find_layers(READS))
    assert sorted(line for line in lines if line[0][0] == "a") == [
        (("a", 0), ("a", 1)),
        (("a", 0), ("c", 1)),
        (("a", 1), ("a", 2)),
        (("a", 1), ("d", 2)),
        (("a", 2), ("e", 3)),
    ]
    assert len(lines) == len(set(lines)) == 5 + 3 + 2


def test_rows_are_turned_until_lines_no_longer_cross() -> None:
    reads = {"a": [], "b": [], "c": ["b"], "d": ["a"], "e": ["d"], "f": ["c"]}
    layers = find_layers(reads)
    lines = find_lines(reads, layers)
    assert count_crossings([[("a", 0), ("b", 0)], [("c", 1), ("d", 1)], [("e", 2), ("f", 2)]], lines) == 2
    assert count_crossings(order_rows(layers, lines), lines) == 0


def test_places_keep_their_order_and_their_distance() -> None:
    layers = find_layers(READS)
    lines = find_lines(READS, layers)
    rows = order_rows(layers, lines)
    widths = {place: 100.0 if place in layers.items() else 0.0 for row in rows for place in row}
    across = place_rows(rows, lines, widths)
    for row in rows:
        for left, right in pairwise(row):
            room = across[right] - across[left] - (widths[left] + widths[right]) / 2
            assert room >= 18 - 1e-6


def test_a_drawing_holds_all_steps_and_those_that_were_not_reached(tmp_path: Path) -> None:
    root = Root(tmp_path)
    plan = {"load": [], "train": ["load"], "push": ["load", "train"]}
    load, train = node("load", makes=MAKES), node("train", "load", makes=MAKES)
    root.run(load, train)
    failed = node("train", "load", state="failed", message="no")
    root.run(node("load", state="cached"), failed, state="failed", plan=plan)
    drawing = draw_steps(read_record(tmp_path))
    assert [(box.name, box.state, box.note, box.reads) for box in drawing.boxes] == [
        ("load", "cached", "cached, 2.0 s in run 1", []),
        ("train", "failed", "failed, 2.0 s", ["load"]),
        ("push", "missed", "not reached", ["load", "train"]),
    ]
    assert all(box.x - box.width / 2 >= 0 and box.x + box.width / 2 <= drawing.width for box in drawing.boxes)
    assert max(box.y for box in drawing.boxes) + drawing.box_height <= drawing.height
    assert len(drawing.tips) == 3


def test_a_step_that_reads_what_another_run_made_reads_nothing_here(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.run(node("push", makes=MAKES))
    root.run(node("evaluate", "push", makes=MAKES), node("push", "evaluate", makes=MAKES))
    boxes = draw_steps(read_record(tmp_path)).boxes
    assert [(box.name, box.reads) for box in boxes] == [("evaluate", []), ("push", ["evaluate"])]


def test_a_run_without_a_step_is_no_drawing(tmp_path: Path) -> None:
    Root(tmp_path).run(state="interrupted")
    assert draw_steps(read_record(tmp_path)).boxes == []
