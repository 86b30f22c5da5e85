"""The page of errors lists all public exceptions and exit statuses, and no others."""

import ast
import builtins
import re

from pipeline.commands.command import BAD_INPUT, DONE, FAILED, INTERRUPTED, REFUSED
from tests.docs.blocks import REPOSITORY

PAGE = (REPOSITORY / "docs/errors.md").read_text(encoding="utf-8")
FILES = (
    REPOSITORY / "keras_bert_edge.py",
    *(
        file
        for package in ("keras_bert", "components", "pipeline", "plugins")
        for file in (REPOSITORY / package).rglob("*.py")
    ),
)


def exceptions():
    """Public exception -> its base class."""
    bases = {
        node.name: ast.unparse(node.bases[0])
        for file in FILES
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ClassDef) and node.bases and not node.name.startswith("_")
    }

    def is_exception(name):
        if name in bases:
            return is_exception(bases[name])
        built_in = getattr(builtins, name, None)
        return isinstance(built_in, type) and issubclass(built_in, Exception)

    return {name: base for name, base in bases.items() if is_exception(base)}


def test_every_exception_and_no_other_has_a_row():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(exceptions())


def test_the_bases_are_those_of_the_code():
    listed = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", PAGE, re.MULTILINE))
    assert listed
    assert listed.items() <= exceptions().items()


def test_every_exit_status_has_a_row():
    listed = re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)
    assert [int(status) for status in listed] == [DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED]
