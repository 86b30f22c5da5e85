import ast
import json
import os
import time

import pytest

from components.files import paths
from pipeline.orchestrator import source_code
from pipeline.orchestrator.source_code import CodeError, Import, load_cache, read, save_cache

TEXT = "'''Prices.'''\nfrom .tax import rate as r\nimport os.path\ndef of(n):\n    return n * r\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A file that is read as `shop.prices` and written long ago; nothing is known of any."""
    monkeypatch.setattr(source_code, "_SOURCES", {})
    monkeypatch.setattr(paths, "SETTLED_NANOSECONDS", -1)
    file = tmp_path / "prices.py"
    file.write_text(TEXT)
    return file


def forget(monkeypatch):
    """As in another process, which must not parse anything."""
    monkeypatch.setattr(source_code, "_SOURCES", {})
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("parsed again"))


def test_a_file_says_what_it_imports_and_binds(module):
    source = read(module, "shop.prices").source
    assert sorted(source.imports) == [Import("os.path", None, 3), Import("shop.tax", "rate", 2)]
    assert {"of", "r", "os"} <= source.names


@pytest.mark.parametrize("name", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checking_do_not_count(module, name):
    def source(types, runtime):
        module.write_text(f"if {name}:\n    {types}\nelse:\n    {runtime}\n")
        return read(module, "shop.prices").source

    first = source("from shop.tax import Rate", "Rate = object")
    assert first == source("from shop.customs import Rate, Duty", "Rate = object")
    assert first.imports == ()
    assert first.digest != source("from shop.tax import Rate", "Rate = int").digest


def test_a_condition_that_only_mentions_type_checking_counts(module):
    module.write_text("if not TYPE_CHECKING:\n    from shop.tax import rate\n")
    assert read(module, "shop.prices").source.imports == (Import("shop.tax", "rate", 2),)


def test_the_declaration_of_a_component_does_not_count(module):
    def digest(decorator):
        module.write_text(f"@{decorator}\ndef of(n):\n    return n\n")
        return read(module, "shop.prices").source.digest

    declared = digest("component(libraries=('keras',), kind='training')")
    assert declared == digest("component(kind='data')") == digest("component()")
    assert declared != digest("cached(kind='data')") != digest("cached(kind='training')")


def test_folders_and_missing_files_say_nothing(tmp_path):
    assert read(tmp_path, "shop").source == read(tmp_path / "none.py", "shop.none").source
    assert read(tmp_path, "shop").stamp is not None
    assert read(tmp_path / "none.py", "shop.none").stamp is None


@pytest.mark.parametrize("text", [b"def of(:\n", b"x = '\xff'\n", b"x = 1\0"])
def test_a_file_that_does_not_parse(module, text):
    module.write_bytes(text)
    with pytest.raises(CodeError, match=r"prices\.py cannot be parsed"):
        read(module, "shop.prices")


def test_parsed_sources_are_cached(module, monkeypatch):
    before = read(module, "shop.prices")
    save_cache(module.parent / "memory")
    forget(monkeypatch)
    load_cache(module.parent / "memory")
    assert read(module, "shop.prices") == before


def test_a_cache_to_which_nothing_is_added_is_not_written_again(module, monkeypatch):
    memory = module.parent / "memory"
    read(module, "shop.prices")
    save_cache(memory)
    monkeypatch.setattr(source_code, "_SOURCES", {})
    load_cache(memory)
    before = memory.stat().st_ino
    read(module, "shop.prices")
    save_cache(memory)
    assert memory.stat().st_ino == before
    (module.parent / "goods.py").write_text(TEXT)
    read(module.parent / "goods.py", "shop.goods")
    save_cache(memory)
    assert len(json.loads(memory.read_bytes())["sources"]) == 2


@pytest.mark.parametrize("damage", ["absent", "cut", "of another reader", "of other parts"])
def test_a_memory_that_is_of_no_use_is_not_used(module, monkeypatch, damage):
    memory = module.parent / "memory"
    read(module, "shop.prices")
    save_cache(memory)
    if damage == "absent":
        memory.unlink()
    elif damage == "cut":
        memory.write_bytes(memory.read_bytes()[:-9])
    elif damage == "of other parts":
        memory.write_text(json.dumps({**json.loads(memory.read_bytes()), "sources": [[1, 2, [3], 4, [[5]], [6]]]}))
    else:
        memory.write_text(json.dumps({**json.loads(memory.read_bytes()), "analyzer": "another"}))
    monkeypatch.setattr(source_code, "_SOURCES", {})
    load_cache(memory)
    assert source_code._SOURCES == {}


def test_a_memory_that_cannot_be_written_is_none(module):
    read(module, "shop.prices")
    save_cache(module.parent / "no such folder" / "memory")
    assert [file.name for file in module.parent.iterdir()] == ["prices.py"]


def test_a_change_that_keeps_size_and_time_is_a_change(module, monkeypatch):
    before, status = read(module, "shop.prices"), module.stat()
    save_cache(module.parent / "memory")
    monkeypatch.setattr(source_code, "_SOURCES", {})
    load_cache(module.parent / "memory")
    time.sleep(0.02)  # the clock of a file system ticks some hundred times a second
    module.write_text(TEXT.replace("n * r", "n + r"))
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert module.stat().st_size == status.st_size
    assert read(module, "shop.prices").source.digest != before.source.digest
    save_cache(module.parent / "memory")
    assert len(json.loads((module.parent / "memory").read_bytes())["sources"]) == 1, "what it was is forgotten"


def test_a_file_that_was_just_written_is_read_again(module, monkeypatch):
    monkeypatch.setattr(paths, "SETTLED_NANOSECONDS", 10**10)
    read(module, "shop.prices")
    save_cache(module.parent / "memory")
    assert json.loads((module.parent / "memory").read_bytes())["sources"] == []
    # In one tick of the clock the stamp stays the same, too.
    state = source_code.stamp(module)
    monkeypatch.setattr(source_code, "stamp", lambda _: state)
    before = read(module, "shop.prices")
    module.write_text(TEXT.replace("n * r", "n + r"))
    assert read(module, "shop.prices").source.digest != before.source.digest
