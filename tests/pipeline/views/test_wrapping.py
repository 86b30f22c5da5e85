"""Lines that end at spaces and slashes."""

import io

import pytest
from rich.console import Console
from rich.tree import Tree

from pipeline.views.wrapping import Wrapped, column_widths, wrap

PATH = "artifacts/ingest_examples/examples-4704c0182a40"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a small model", 7, ["a small", "model"]),
        ("a small model", 20, ["a small model"]),
        (PATH, 30, ["artifacts/ingest_examples/", "examples-4704c0182a40"]),
        ("  left: 2 ADD", 9, ["  left: 2", "ADD"]),
        ("one\ntwo three", 5, ["one", "two", "three"]),
        ("0.02 / 0.03", 6, ["0.02 /", "0.03"]),
        ("incomprehensible", 6, ["incomp", "rehens", "ible"]),
        ("小さい模型 x", 6, ["小さい", "模型 x"]),
        ("", 4, [""]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


def test_the_widest_column_gives_way_and_no_word_is_cut() -> None:
    columns = [["file", "model.tflite"], ["path", "artifacts/push/pushed"]]
    assert column_widths(columns, 40) == [12, 21]
    assert column_widths(columns, 30) == [12, 18]
    assert column_widths(columns, 22) == [12, 10]
    assert column_widths(columns, 21) is None


def test_a_branch_wraps_at_its_own_width() -> None:
    tree = Tree("root")
    tree.add(Wrapped(f"examples: {PATH} [bold]"))
    file = io.StringIO()
    Console(width=34, file=file).print(tree)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "root",
        "└── examples: artifacts/",
        "    ingest_examples/",
        "    examples-4704c0182a40 [bold]",
    ]
