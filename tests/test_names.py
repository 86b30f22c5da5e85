"""Names that a reader can search for: no variable is a bare participle or pronoun, and a class name stands once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("keras_bert", "components", "pipeline", "benchmarks")
# Participles and pronouns say nothing about a value; the noun of the thing does.
VAGUE_NAMES = frozenset(("asked", "begun", "each", "found", "known", "own", "told", "wanted"))


def parsed(package: str) -> Iterator[tuple[str, ast.Module]]:
    for file in sorted((REPOSITORY / package).rglob("*.py")):
        yield file.relative_to(REPOSITORY).as_posix(), ast.parse(file.read_bytes())


def variables(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_no_variable_has_a_vague_name(package: str) -> None:
    vague = [
        f"{file}:{line} {name}"
        for file, tree in parsed(package)
        for line, name in variables(tree)
        if name in VAGUE_NAMES
    ]
    assert vague == []


def test_a_class_name_stands_once() -> None:
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for file, tree in parsed(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
