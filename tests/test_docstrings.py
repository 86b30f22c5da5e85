"""Examples in docstrings: all of them run, and every name that `import keras_bert` gives has one.

An example runs in an empty folder and sees the names of its module, `keras_bert`, `np`, and a small `task`.
"""

import ast
import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import keras_bert

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("keras_bert", "components", "pipeline", "plugins")
PROMPT = ">>> "
# The heading by which the site knows the lines below it as code.
HEADING = "Examples:"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

Definition = ast.ClassDef | ast.FunctionDef


def sources(package):
    return (file.relative_to(REPOSITORY) for file in sorted((REPOSITORY / package).rglob("*.py")))


def parse(file):
    return ast.parse((REPOSITORY / file).read_bytes())


WITH_EXAMPLES = [file for name in PACKAGES for file in sources(name) if PROMPT in (REPOSITORY / file).read_text()]


def module_name(file):
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def small_task():
    """A classifier with new weights and six words, `film` among them."""
    tokenizer = keras_bert.Tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film"], lowercase=True)
    config = keras_bert.EncoderConfig(
        num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=6, max_length=16
    )
    encoder = keras_bert.build_encoder(config)
    return keras_bert.TASKS["classification"].build(encoder, tokenizer, labels=["no", "yes"], max_length=16)


def doctests(file):
    """The examples of each docstring, which are read from the source: no decorator can hide one."""
    names = {**vars(importlib.import_module(module_name(file))), "keras_bert": keras_bert, "np": np}
    for node in ast.walk(parse(file)):
        if isinstance(node, Definition | ast.Module) and (text := ast.get_docstring(node)) and PROMPT in text:
            name = f"{module_name(file)}.{getattr(node, 'name', '')}".rstrip(".")
            test = doctest.DocTestParser().get_doctest(text, names, name, str(file), node.body[0].lineno - 1)
            if any(re.search(r"\btask\b", example.source) for example in test.examples):
                test.globs["task"] = small_task()
            yield test


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=module_name)
def test_the_examples_of_a_module_give_what_they_show(file, tmp_path, monkeypatch):
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for number, test in enumerate(doctests(file)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert HEADING in test.docstring, f"{test.name} must have its examples below {HEADING}"
        assert not any(doctest.SKIP in example.options for example in test.examples), f"{test.name} skips an example"
        runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


def test_every_name_of_the_front_door_has_an_example():
    """The classes and functions that `import keras_bert` gives; the other names are tables."""
    definitions = [
        node
        for name, home in keras_bert._HOMES.items()
        for node in parse(Path(*home.split(".")).with_suffix(".py")).body
        if isinstance(node, Definition) and node.name == name
    ]
    assert len(definitions) > 20
    assert [node.name for node in definitions if PROMPT not in (ast.get_docstring(node) or "")] == []


def has_docstring(name, owner, classes):
    """Whether a method has a docstring, in its class or in one that this inherits from."""
    methods = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name]
    bases = (re.sub(r"\[.*|.*\.", "", ast.unparse(base)) for base in owner.bases)
    return any(map(ast.get_docstring, methods)) or any(
        has_docstring(name, classes[base], classes) for base in bases if base in classes
    )


def test_public_methods_have_docstrings_of_their_own_or_of_what_they_override():
    modules = [parse(file) for package in PACKAGES for file in sources(package)]
    nodes = [node for module in modules for node in module.body if isinstance(node, ast.ClassDef)]
    classes = {node.name: node for node in nodes}
    methods = [
        (method.name, owner)
        for owner in nodes
        for method in owner.body
        if isinstance(method, ast.FunctionDef) and not owner.name.startswith("_") and not method.name.startswith("_")
    ]
    assert len(methods) > 1000
    assert [f"{owner.name}.{name}" for name, owner in methods if not has_docstring(name, owner, classes)] == []
