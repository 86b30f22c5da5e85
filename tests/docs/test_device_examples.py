"""Rules that examples of docs/devices.md repeat, which only run where tensorflow-text's operations are."""

import ast
from collections.abc import Callable
from typing import Any

import pytest

from keras_bert.tasks.places import end_with_marks
from tests.docs.blocks import REPOSITORY, read_blocks


@pytest.fixture
def shown() -> Callable[[str, int], int]:
    """`end_with_marks` as the page defines it, with the modules that the page imports."""
    page = REPOSITORY / "docs" / "devices.md"
    code = "\n".join(block.code for block in read_blocks(page.read_text(), page.name) if block.language == "python")
    nodes = [
        node
        for node in ast.parse(code).body
        if (isinstance(node, ast.Import) and node.names[0].name == "unicodedata") or isinstance(node, ast.FunctionDef)
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(nodes, []), str(page), "exec"), names)
    assert code.count("end_with_marks(text, end)]") == code.count("end_with_marks(context, ends[last])]") == 1
    function: Callable[[str, int], int] = names["end_with_marks"]
    return function


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [("विष्णु मंदिर", 5, "विष्णु"), ("cafe\u0301 noir", 4, "cafe\u0301"), ("London.", 6, "London")],
)
def test_words_keep_their_marks(shown: Callable[[str, int], int], text: str, end: int, expected: str) -> None:
    assert text[: shown(text, end)] == expected
    assert shown(text, end) == end_with_marks(text, end)
