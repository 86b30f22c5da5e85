import ast
import importlib
import subprocess
import sys

import pytest

from components.dsl.component import component
from components.files import paths
from pipeline.orchestrator import fingerprint
from pipeline.orchestrator.fingerprint import Code, execution_key, find_code, find_ingredients
from pipeline.orchestrator.records import Ingredients
from pipeline.orchestrator.source_code import CodeError
from tests.pipeline.orchestrator import toy

STEP = """
from components.dsl.component import component
from components.dsl.component import Output
from components.dsl.artifact import Artifact
@component()
def make(out: Output[Artifact]) -> None:
    from shop import prices
    out.file("x").write_text(str(prices.of(1)))
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Writes modules of a package `shop` and returns the fingerprint of `shop.steps.make`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def write(**modules):
        for name, text in modules.items():
            path = folder.joinpath(*name.split("__dot__")).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        if not made:
            made.append(importlib.import_module("shop.steps").make)
        return find_code(made[0], ("shop", "components")).digest

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


PRICES = "def of(n):\n    return n * 2\n"


def test_comments_docstrings_and_layout_do_not_count(shop):
    before = shop(__init__="", steps=STEP, prices=PRICES)
    assert shop(prices="'''Prices.'''\n# a comment\ndef of(n):\n    '''Doc.'''\n\n    return (n *\n  2)\n") == before
    assert shop(steps="'''Steps.'''\n" + STEP) == before
    assert shop(__init__="'''The shop.'''\n") == before
    with_attribute = shop(prices="rate = 2\n" + PRICES)
    assert shop(prices="rate = 2\n'''The rate.'''\n" + PRICES) == with_attribute != before


def test_files_beside_the_modules_of_a_package_count(shop, tmp_path):
    seen = [shop(__init__="", steps=STEP, prices=PRICES)]
    for text in ("alert(1)", "alert(2)"):
        (tmp_path / "shop" / "page.js").write_text(text)
        fingerprint._CODES.clear()  # as of another process
        seen.append(shop())
    (tmp_path / "shop" / ".page.js.swp").write_text("an editor's")
    fingerprint._CODES.clear()
    assert len(set(seen)) == 3
    assert shop() == seen[-1]


def test_code_counts_wherever_it_is_imported_from(shop):
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


def test_changed_code_has_another_fingerprint(shop):
    fingerprints = [shop(__init__="", steps=STEP, prices=text) for text in DIFFERENT]
    assert len(set(fingerprints)) == len(DIFFERENT)


def test_unrelated_modules_do_not_count(shop):
    before = shop(__init__="", steps=STEP, prices=PRICES)
    assert shop(other="x = 1\n") == before


def test_same_text_in_the_same_place_has_the_same_fingerprint_again(shop):
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
def test_imports_that_lead_nowhere(shop, text, message):
    shop(__init__="", steps=STEP, prices=PRICES, tax="")
    with pytest.raises(CodeError, match=message):
        shop(prices=text)


def test_names_of_a_package_are_found(shop):
    text = "from shop import a, b, c, D, e, __name__\ndef of(n): pass\n"
    init = "import os as a\nb = 1\ndef c(): pass\nclass D: pass\nif b:\n    (e, f) = 1, 2\n"
    shop(__init__=init, steps=STEP, prices=text)


def test_component_is_never_imported_nor_any_heavy_library():
    code = """
import sys
from pipeline.orchestrator import fingerprint
from pipeline.orchestrator.fingerprint import find_code
class Fake: module, name = "tests.pipeline.orchestrator.toy", "write"
find_code(Fake)
loaded = {"tests.pipeline.orchestrator.toy", "tensorflow", "keras", "numpy", "pydantic"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_component_of_no_module():
    nowhere = component()(lambda: None)
    nowhere.module = "no_such_package.x"
    with pytest.raises(CodeError, match="'no_such_package' must be importable"):
        find_code(nowhere)


def key_of(component, inputs=None, parameters=None, code="c"):
    return execution_key(find_ingredients(component, inputs or {}, parameters or {}, Code(code, {})))


def test_key_depends_on_everything_it_is_told():
    def key(inputs, parameters, code="c"):
        return key_of(toy.write, inputs, parameters, code)

    keys = [
        key({}, {}),
        key({"a": "1"}, {}),
        key({"a": None}, {}),
        key({"b": "1"}, {}),
        key({}, {"a": "1"}),
        key({}, {"a": 1}),
        key({}, {}, "d"),
        key_of(toy.shout),
    ]
    assert len(set(keys)) == len(keys)
    assert key({"a": "1", "b": "2"}, {"x": 1, "y": 2}) == key({"b": "2", "a": "1"}, {"y": 2, "x": 1})


def test_a_key_is_what_it_was_in_the_first_release():
    # python -c "import hashlib, json; print(hashlib.sha256(json.dumps({'component': ['shop.steps', 'make'], 'inputs':
    # {'a': 'f'}, 'parameters': {'x': 1}, 'code': 'c', 'libraries': {'keras': '3.15'}, 'python': (3, 11)},
    # sort_keys=True).encode()).hexdigest())"
    made = Ingredients("shop.steps.make", {"a": "f"}, {"x": 1}, "c", {"keras": "3.15"}, "3.11", {}, {})
    key = "6fd202d9ee0abeed91635ebeb599d0eda4aa0a1132bfa2f5747c04ff770c0b0a"
    assert execution_key(made) == key
    assert execution_key(made._replace(modules={"m": "1"}, files={"x": {"rows.csv": "d"}})) == key


def test_the_digest_of_each_module_is_told(tmp_path, shop):
    shop(__init__="", steps=STEP, prices=PRICES)
    before = find_code(importlib.import_module("shop.steps").make, ("shop", "components"))
    shop(prices=PRICES.replace("2", "3"))
    after = find_code(importlib.import_module("shop.steps").make, ("shop", "components"))
    assert before.digest != after.digest
    assert before.modules.keys() == after.modules.keys() >= {"shop", "shop.steps", "shop.prices", "components"}
    assert {name for name in before.modules if before.modules[name] != after.modules[name]} == {"shop.prices"}


def test_versions_of_libraries_count(monkeypatch):
    plain = key_of(toy.write)
    monkeypatch.setattr(toy.write, "libraries", ("pytest",))
    assert key_of(toy.write) != plain
    monkeypatch.setattr(toy.write, "libraries", ("no-such-library",))
    with pytest.raises(CodeError, match="'write' depends on the version of 'no-such-library'"):
        key_of(toy.write)


def test_a_module_is_parsed_once(shop, monkeypatch):
    monkeypatch.setattr(paths, "SETTLED_NANOSECONDS", -1)  # as of files that were written long ago
    before = shop(__init__="", steps=STEP, prices=PRICES)
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("parsed again"))
    assert shop() == before
    monkeypatch.setattr(fingerprint, "_CODES", {})
    monkeypatch.setattr(fingerprint, "_IMPORTED", {})
    assert shop() == before


def test_the_code_of_plug_ins_of_a_kind_that_a_step_asks_for_counts(tmp_path, shop, monkeypatch):
    """Also of a stranger's package, and what it imports of its own; an edited page changes nothing."""
    stranger = tmp_path / "coins"
    stranger.mkdir()
    (stranger / "__init__.py").touch()
    (stranger / "README.md").write_text("Coins.\n")
    (stranger / "mint.py").write_text("from coins.metal import gold\n")
    (stranger / "metal.py").write_text("gold = 1\n")
    metadata = tmp_path / "coins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[keras_bert_edge.currencies]\ngold = coins.mint:gold\n")
    asking = "from keras_bert.core.plugins import find_plugins\n\n\ndef of(n):\n    return find_plugins('currencies')\n"
    before = shop(__init__="", steps=STEP, prices=asking)
    (stranger / "README.md").write_text("Gold coins.\n")
    assert shop() == before
    (stranger / "metal.py").write_text("gold = 2\n")
    assert shop() != before
    code = find_code(importlib.import_module("shop.steps").make, ("shop", "components"))
    assert {"coins", "coins.mint", "coins.metal"} < set(code.modules)
    assert shop(prices=asking.replace("currencies", "metals")) != before
    assert "coins.mint" not in find_code(importlib.import_module("shop.steps").make, ("shop", "components")).modules
