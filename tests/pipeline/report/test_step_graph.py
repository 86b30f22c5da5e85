"""Steps in rows by depth: below all that they read, apart from each other, with long lines beside the boxes."""

import re

from pipeline.report.record import read_record
from pipeline.report.step_graph import draw_steps, find_depths
from tests.pipeline.report.made_up import Root, node

READS = {"a": [], "b": [], "c": ["a"], "d": ["a", "c"], "e": ["a", "b", "d"]}
MAKES = {"out": "Text"}


def test_each_step_is_one_row_below_the_deepest_that_it_reads():
    assert find_depths(READS) == {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3}


def test_lines_over_several_rows_pass_beside_all_boxes_in_a_lane_of_their_source(tmp_path):
    root = Root(tmp_path)
    root.run(*(node(name, *sources, makes=MAKES) for name, sources in READS.items()))
    drawing = draw_steps(read_record(tmp_path))
    boxes = {box.name: box for box in drawing.boxes}
    lanes = [float(re.fullmatch(r"M.* ([\d.]+) [\d.]+V[\d.]+", path)[1]) for path in drawing.paths]
    assert len(lanes) == len(set(lanes)) == 2, "of a, to d and e, and of b, to e"
    assert max(box.x + box.width / 2 for box in drawing.boxes) < min(lanes)
    assert max(lanes) < drawing.width
    assert len(drawing.tips) == 6
    ends = {tuple(map(float, tip.split()[-2:])) for tip in drawing.tips}
    assert ends == {(boxes[name].x, boxes[name].y) for name in "cde"}


def test_boxes_of_a_row_stand_apart_below_what_they_read(tmp_path):
    root = Root(tmp_path)
    reads = {"a": (), "b": (), "c": ("b",), "d": ("a",), "e": ("d",), "f": ("c",)}
    root.run(*(node(name, *sources, makes=MAKES) for name, sources in reads.items()))
    boxes = {box.name: box for box in draw_steps(read_record(tmp_path)).boxes}
    for left, right in ("ab", "dc", "ef"):
        assert boxes[left].y == boxes[right].y
        assert boxes[right].x - boxes[left].x >= (boxes[left].width + boxes[right].width) / 2 + 18 - 1e-6


def test_a_drawing_holds_all_steps_and_those_that_were_not_reached(tmp_path):
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


def test_a_step_that_reads_what_another_run_made_reads_nothing_here(tmp_path):
    root = Root(tmp_path)
    root.run(node("push", makes=MAKES))
    root.run(node("evaluate", "push", makes=MAKES), node("push", "evaluate", makes=MAKES))
    boxes = draw_steps(read_record(tmp_path)).boxes
    assert [(box.name, box.reads) for box in boxes] == [("evaluate", []), ("push", ["evaluate"])]


def test_a_run_without_a_step_is_no_drawing(tmp_path):
    Root(tmp_path).run(state="interrupted")
    assert draw_steps(read_record(tmp_path)).boxes == []
