"""Files side by side, for a person."""

from pipeline.views.bench import bench_tables

RUN = {
    "threads": 1,
    "open_milliseconds": 1.234,
    "first_milliseconds": 2.345,
    "milliseconds": {"8": {"p50": 0.5, "p90": 0.75, "p99": 1.25}},
    "peak_megabytes": 40.04,
    "own_megabytes": 4.06,
}
LITE = {
    "file": "/one/model.tflite",
    "bytes": 1_500_000,
    "lengths": [8],
    "delegate": {
        "name": "XNNPACK",
        "nodes": 95,
        "taken": 93,
        "parts": 1,
        "left": {"GATHER int8: it runs none of these": 2},
    },
    "threads": [RUN],
}
ONNX = {
    "file": "/one/model.onnx",
    "bytes": 2_000_000,
    "lengths": [16],
    "threads": [RUN | {"milliseconds": {"16": {"p50": 1.0, "p90": 2.0, "p99": 3.0}}, "own_megabytes": None}],
}


def test_a_row_a_file_and_a_column_a_length():
    (table,) = bench_tables({"files": [LITE, ONNX], "answers": 10, "operations": False})
    assert table.headings == [
        "file",
        "MB",
        "threads",
        "open",
        "first",
        "8 tokens",
        "16 tokens",
        "memory, MB",
        "process, MB",
    ]
    assert table.rows == [
        ["model.tflite", "1.50", "1", "1.23", "2.35", "0.50 / 0.75 / 1.25", "", "4.1", "40.0"],
        ["model.onnx", "2.00", "1", "1.23", "2.35", "", "1.00 / 2.00 / 3.00", "", "40.0"],
    ]
    assert table.notes[2:] == [
        "model.tflite: XNNPACK runs 93 of 95 nodes, in 1 part",
        "  left: 2 GATHER int8: it runs none of these",
    ]
    note, _ = bench_tables({"files": [LITE], "answers": 10, "operations": True})[0].notes[2:]
    assert note.endswith("in 1 part; LiteRT's Python package does not time them")


def test_files_of_one_name_are_told_apart():
    two = [LITE, LITE | {"file": "/two/model.tflite"}]
    (table,) = bench_tables({"files": two, "answers": 10, "operations": False})
    assert [row[0] for row in table.rows] == ["/one/model.tflite", "/two/model.tflite"]


def test_few_operations_one_by_one_and_the_rest_together():
    operations = [{"name": f"Op{number}", "nodes": 1, "milliseconds": 0.1} for number in range(14)]
    profiled = ONNX | {"profile": {"length": 16, "operations": operations}}
    _, table = bench_tables({"files": [profiled], "answers": 10, "operations": True})
    rows = table.rows
    assert table.headings[0] == "model.onnx, 16 tokens"
    assert rows[0] == ["Op0", "1", "0.100", "7.1"]
    assert len(rows) == 13
    assert rows[-1] == ["2 others", "2", "0.200", "14.3"]
