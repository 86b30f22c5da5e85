import ast
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from components.dsl.component import Component, component
from pipeline.orchestrator import fingerprint
from pipeline.orchestrator.fingerprint import code_fingerprint, execution_key
from pipeline.orchestrator.source_code import CodeError
from tests.pipeline.orchestrator import toy

STEP = """
from components.dsl.component import component
from components.dsl.signature import Output
from components.dsl.artifact import Artifact
@component()
def make(out: Output[Artifact]) -> None:
    from shop import prices
    out.file("x").write_text(str(prices.of(1)))
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes modules of a package `shop` and returns the fingerprint of `shop.steps.make`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[Component] = []

    def write(**modules: str) -> str:
        for name, text in modules.items():
            path = folder.joinpath(*name.split("__dot__")).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        if not made:
            made.append(importlib.import_module("shop.steps").make)
        return code_fingerprint(made[0], ("shop", "components"))

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


PRICES = "def of(n):\n    return n * 2\n"


def test_comments_docstrings_and_layout_do_not_count(shop: Callable[..., str]) -> None:
    before = shop(__init__="", steps=STEP, prices=PRICES)
    assert shop(prices="'''Prices.'''\n# a comment\ndef of(n):\n    '''Doc.'''\n\n    return (n *\n  2)\n") == before
    assert shop(steps="'''Steps.'''\n" + STEP) == before
    assert shop(__init__="'''The shop.'''\n") == before


def test_files_beside_the_modules_of_a_package_count(shop: Callable[..., str], tmp_path: Path) -> None:
    seen = [shop(__init__="", steps=STEP, prices=PRICES)]
    for text in ("alert(1)", "alert(2)"):
        (tmp_path / "shop" / "page.js").write_text(text)
        fingerprint._FINGERPRINTS.clear()  # as of another process
        seen.append(shop())
    (tmp_path / "shop" / ".page.js.swp").write_text("an editor's")
    fingerprint._FINGERPRINTS.clear()
    assert len(set(seen)) == 3
    assert shop() == seen[-1]


def test_code_counts_wherever_it_is_imported_from(shop: Callable[..., str]) -> None:
    seen = [shop(__init__="", steps=STEP, prices=PRICES)]
    seen.append(shop(prices="def of(n):\n    return n * 33\n"))
    seen.append(shop(prices="from .tax import rate\ndef of(n):\n    return n * rate\n", tax="rate = 1\n"))
    seen.append(shop(tax="rate = 22\n"))
    seen.append(shop(__init__="x = 1\n"))
    seen.append(shop(tax="import shop.deep.down as d\nrate = d.r\n", deep__dot____init__="", deep__dot__down="r = 1\n"))
    seen.append(shop(deep__dot____init__="y = 1\n"))
    seen.append(shop(deep__dot__down="from ..prices import of\nr = 1\n"))
    assert len(set(seen)) == len(seen)


DIFFERENT = (
    *("x[a:]", "x[:a]", "x[::a]", "x[a]", "x[a,]", "x['a']", "x(a)", "x(*a)", "x(**a)", "x(a=a)", "x.a", "x, a"),
    *("[x, a]", "x\na", "x = a", "x += a", "x: a", "x: a = a", "x < a", "x > a", "x < a < a", "not x", "-x", "None"),
    *("lambda x: a", "lambda *x: a", "lambda x=a: a", "lambda *, x=a: a", "lambda x, /: a", "x if a else a", "del x"),
    *("1", "1.0", "True", "'1'", "b'1'", "f'{x}'", "f'{x!r}'", "f'{x:a}'", "[x for x in a]", "[x for a in x]"),
    *("if x:\n a", "if x:\n a\nelse:\n a", "while x:\n a", "for x in a:\n a", "with x:\n a", "with x as a:\n a"),
    *("try:\n x\nfinally:\n a", "try:\n x\nexcept a:\n a", "try:\n x\nexcept:\n a", "raise x"),
)


def test_what_parses_otherwise_has_another_fingerprint(shop: Callable[..., str]) -> None:
    found = [shop(__init__="", steps=STEP, prices=text) for text in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)


def test_unrelated_modules_do_not_count(shop: Callable[..., str]) -> None:
    before = shop(__init__="", steps=STEP, prices=PRICES)
    assert shop(other="x = 1\n") == before


def test_same_text_in_the_same_place_has_the_same_fingerprint_again(shop: Callable[..., str]) -> None:
    before = shop(__init__="", steps=STEP, prices=PRICES)
    assert shop(prices=PRICES + "x = 1\n") != before
    assert shop(prices=PRICES) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from shop import nothing\n", "shop.prices, line 1: 'shop' has neither a submodule nor a name 'nothing'"),
        ("\nimport shop.nowhere\n", "shop.prices, line 2: there is no module 'shop.nowhere'"),
        ("from shop.nowhere import x\n", "there is no module 'shop.nowhere'"),
        ("from shop.tax import *\n", "cannot be followed"),
        ("def of(:\n", "cannot be parsed"),
    ],
)
def test_imports_that_lead_nowhere(shop: Callable[..., str], text: str, message: str) -> None:
    shop(__init__="", steps=STEP, prices=PRICES, tax="")
    with pytest.raises(CodeError, match=message):
        shop(prices=text)


def test_names_of_a_package_are_found(shop: Callable[..., str]) -> None:
    text = "from shop import a, b, c, D, e, __name__\ndef of(n): pass\n"
    init = "import os as a\nb = 1\ndef c(): pass\nclass D: pass\nif b:\n    (e, f) = 1, 2\n"
    shop(__init__=init, steps=STEP, prices=text)


def test_the_component_is_never_imported_nor_any_library() -> None:
    code = """
import sys
from pipeline.orchestrator import fingerprint
from pipeline.orchestrator.fingerprint import code_fingerprint
class Fake: module, name = "tests.pipeline.orchestrator.toy", "write"
code_fingerprint(Fake)
loaded = {"tests.pipeline.orchestrator.toy", "keras_bert", "tensorflow", "keras", "numpy"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_component_of_no_module() -> None:
    nowhere = component()(lambda: None)
    nowhere.module = "no_such_package.x"
    with pytest.raises(CodeError, match="'no_such_package' must be importable"):
        code_fingerprint(nowhere)


def test_key_depends_on_everything_it_is_told() -> None:
    def key(inputs: dict[str, str | None], parameters: dict[str, object], code: str = "c") -> str:
        return execution_key(toy.write, inputs, parameters, code)

    keys = [
        key({}, {}),
        key({"a": "1"}, {}),
        key({"a": None}, {}),
        key({"b": "1"}, {}),
        key({}, {"a": "1"}),
        key({}, {"a": 1}),
        key({}, {}, "d"),
        execution_key(toy.shout, {}, {}, "c"),
    ]
    assert len(set(keys)) == len(keys)
    assert key({"a": "1", "b": "2"}, {"x": 1, "y": 2}) == key({"b": "2", "a": "1"}, {"y": 2, "x": 1})


def test_versions_of_libraries_count(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = execution_key(toy.write, {}, {}, "c")
    monkeypatch.setattr(toy.write, "libraries", ("pytest",))
    assert execution_key(toy.write, {}, {}, "c") != plain
    monkeypatch.setattr(toy.write, "libraries", ("no-such-library",))
    with pytest.raises(CodeError, match="'write' depends on the version of 'no-such-library'"):
        execution_key(toy.write, {}, {}, "c")


def test_a_module_is_parsed_once(shop: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = shop(__init__="", steps=STEP, prices=PRICES)
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("parsed again"))
    assert shop() == before
    monkeypatch.setattr(fingerprint, "_FINGERPRINTS", {})
    monkeypatch.setattr(fingerprint, "_FOLLOWED", {})
    assert shop() == before
