"""Names that a reader can search for: no variable is a bare participle or pronoun, and a class name stands once."""

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("keras_bert", "components", "pipeline", "plugins", "benchmarks")
# Participles and pronouns say nothing about a value; the noun of the thing does.
VAGUE_NAMES = frozenset(("asked", "begun", "each", "found", "known", "own", "told", "wanted"))
# Comments, strings and fields, in which these words are English or part of an interface.
NO_VARIABLES = re.compile(r"""/\*.*?\*/|//[^\n]*|"[^"\n]*"|'[^'\n]*'|\.\w+""", re.DOTALL)
CLIENTS = sorted(
    file for file in (REPOSITORY / "keras_bert/clients").iterdir() if file.suffix in (".js", ".kt", ".swift")
)


def parsed(package):
    for file in sorted((REPOSITORY / package).rglob("*.py")):
        yield file.relative_to(REPOSITORY).as_posix(), ast.parse(file.read_bytes())


def variables(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_no_variable_has_a_vague_name(package):
    vague = [
        f"{file}:{line} {name}"
        for file, tree in parsed(package)
        for line, name in variables(tree)
        if name in VAGUE_NAMES
    ]
    assert vague == []


@pytest.mark.parametrize("file", CLIENTS, ids=lambda file: file.name)
def test_no_variable_of_the_code_for_apps_has_a_vague_name(file):
    words = re.findall(r"\w+", NO_VARIABLES.sub(" ", file.read_text()))
    assert VAGUE_NAMES & set(words) == set()


def test_a_class_name_stands_once():
    places = {}
    for package in PACKAGES:
        for file, tree in parsed(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
