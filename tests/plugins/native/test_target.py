"""The export target `native`."""

import re

import pytest

from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ModelTraits
from keras_bert.options.export import Export
from plugins.native.target import HEADER, SOURCES, Native
from tests.keras_bert.export.word_tasks import make_task


def test_the_sources_stand_beside_the_files_of_a_model(tmp_path):
    source = ExportInputs(make_task("classification"), None, Export(), tmp_path)
    Native().check(source.task)
    Native().write(source)
    written = {path.name: path.read_bytes() for path in (tmp_path / HEADER.name).parent.iterdir()}
    assert written == {path.name: path.read_bytes() for path in SOURCES}
    measured = Native().compare(source, HEADER, ComparisonRows({}, list, 1.0))
    assert measured == {"bytes": sum(map(len, written.values()))}
    assert Native().describe(source, HEADER) == {"lengths": [source.task.max_length]}


@pytest.mark.parametrize(("obstacle", "reason"), [("", None), ("no copy of it", "no copy of it")])
def test_refuses_tokenizers_without_tables_for_apps(obstacle, reason):
    assert Native().find_obstacle(ModelTraits(copy_obstacle=obstacle)) == reason


# How dart:ffi says a type of the interface in C.
DART = {
    "size_t": "Size",
    "int32_t": "Int32",
    "uint32_t": "Uint32",
    "int64_t": "Int64",
    "double": "Double",
    "void": "Void",
    "int32_t *": "Pointer<Int32>",
    "size_t *": "Pointer<Size>",
    "const float *": "Pointer<Float>",
    "const char *": "Pointer<Uint8>",
    "bert_edge_token *": "Pointer<TokenStruct>",
    "bert_edge_entry *": "Pointer<EntryStruct>",
    "bert_edge_model *": "Pointer<Void>",
    "bert_edge_question *": "Pointer<Void>",
    "const bert_edge_model *": "Pointer<Void>",
    "const bert_edge_question *": "Pointer<Void>",
}


def split_declaration(declaration):
    """The type and the name of a declaration in C."""
    return re.fullmatch(r"(.*?(?: \*| (?=\w+$)))(\w+)", declaration.strip()).groups()


def dart_signature(result, parameters):
    """The type of a function; texts without a size end with a zero."""
    types = [result.strip(), *(split_declaration(parameter)[0].strip() for parameter in parameters)]
    is_sized = [following == "size_t" for following in types[1:]] + [False]
    texts = [
        "Pointer<Utf8>" if kind == "const char *" and not sized else DART[kind]
        for kind, sized in zip(types, is_sized, strict=True)
    ]
    return f"{texts[0]} Function({', '.join(texts[1:])})"


def test_dart_calls_each_function_with_the_types_of_the_header():
    """No compiler of Dart runs here: a type of another size would read memory of others."""
    header, dart = ((SOURCES[0].parent / name).read_text() for name in ("bert_edge.h", "bert_edge.dart"))
    for name, meaning in re.findall(r"typedef (\w+) = (\w+<\w+>);", dart):
        dart = re.sub(rf"\b{name}\b", meaning, dart)
    dart = re.sub(r"\s+", " ", dart)
    functions = re.findall(r"^BERT_EDGE_API (.*?)(bert_edge_\w+)\(([^)]*)\);", header, re.MULTILINE)
    # The tags of all words are not in the wrappers.
    assert {name for *_, name, _ in functions} - set(re.findall(r"bert_edge_\w+(?=')", dart)) == {"bert_edge_tags"}
    for result, name, parameters in functions:
        signature = dart_signature(result, [] if parameters == "void" else parameters.split(","))
        called = re.sub(r"\b(Size|Int32|Int64)\b(?!>)", "int", signature)
        called = called.replace("Double ", "double ").replace("Void ", "void ")
        if name == "bert_edge_close":
            assert signature == "Void Function(Pointer<Void>)"
            assert f"NativeFinalizer(_library.lookup('{name}'))" in dart
        elif name != "bert_edge_tags":
            assert f"lookupFunction<{signature}, {called}>('{name}')" in dart


def test_dart_has_the_structs_of_the_header():
    header, dart = ((SOURCES[0].parent / name).read_text() for name in ("bert_edge.h", "bert_edge.dart"))
    for name in ("Token", "Entry"):
        body = re.search(rf"typedef struct \{{([^}}]*)\}} bert_edge_{name.lower()};", header)[1]
        expected = []
        for declaration in body.split(";")[:-1]:
            first, *others = declaration.split(",")
            kind, field = split_declaration(first)
            expected += [(DART[kind.strip()], part.strip()) for part in (field, *others)]
        body = re.search(rf"class {name}Struct extends Struct \{{([^}}]*)\}}", dart)[1]
        fields = re.findall(r"(?:@(\w+)\(\) external (?:int|double)|external (Pointer<\w+>)) (\w+);", body)
        snake = [
            (kind or pointer, re.sub("([A-Z])", lambda letter: f"_{letter[1].lower()}", field))
            for kind, pointer, field in fields
        ]
        assert snake == expected
