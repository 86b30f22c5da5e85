"""Answers of the interface in C, of Rust and of C#, against the library's."""

import shutil
import subprocess

import pytest

from keras_bert.options.data import Prompts
from tests.keras_bert.export.word_tasks import SETTINGS
from tests.plugins.native.answers import UNITS, ask, check_answers, make_folder, write_calibration
from tests.plugins.native.build import HERE, SANITIZERS, SOURCES, compile_program

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program in C, linked with the library in C++, both with sanitizers."""
    folder = tmp_path_factory.mktemp("ask")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *SANITIZERS, f"-I{SOURCES}"]
    subprocess.run(["gcc", *flags, "-c", str(HERE / "ask.c"), "-o", str(folder / "ask.o")], check=True)
    return str(compile_program(folder, "bert_edge.cpp", flags=(*SANITIZERS, str(folder / "ask.o"))))


def in_c(program, unit="code_points"):
    return [program, str(list(UNITS).index(unit))]


@pytest.mark.parametrize("name", SETTINGS)
def test_answers_are_those_of_the_library(name, program, tmp_path):
    check_answers(in_c(program), tmp_path, make_folder(name, tmp_path))


@pytest.mark.parametrize("unit", UNITS)
def test_offsets_count_any_unit(unit, program, tmp_path):
    check_answers(in_c(program, unit), tmp_path, make_folder("token_classification", tmp_path), unit)


@pytest.mark.parametrize("threshold", [0.0, None])
def test_a_question_may_have_no_answer(threshold, program, tmp_path):
    task = make_folder("question_answering", tmp_path, null_threshold=threshold)
    answers = check_answers(in_c(program), tmp_path, task)
    assert any(not answer.entries[0]["text"] for answer in answers)


def test_probabilities_are_calibrated(program, tmp_path):
    task = make_folder("classification", tmp_path, calibration={"temperature": 1.5})
    assert task.calibration.temperature == 1.5
    tops = [answer.entries[0] for answer in check_answers(in_c(program), tmp_path, task)]
    assert all(top["is_sure"] for top in tops)
    # Sure of some texts only.
    threshold = sorted(top["probability"] for top in tops)[len(tops) // 2]
    write_calibration(tmp_path, {"temperature": 1.5, "threshold": threshold})
    tops = [answer.entries[0] for answer in check_answers(in_c(program), tmp_path, task)]
    assert {top["is_sure"] for top in tops} == {True, False}
    assert all(top["is_sure"] == (top["probability"] >= threshold) for top in tops)


@pytest.fixture(scope="module")
def rust(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rust")
    library = compile_program(folder, "bert_edge.cpp", flags=("-O2", "-c"))
    subprocess.run(["ar", "rcs", str(folder / "libnative.a"), str(library)], check=True)
    for source in (SOURCES / "bert_edge.rs", HERE / "ask.rs"):
        shutil.copyfile(source, folder / source.name)
    links = ["-L", str(folder), "-l", "static=native", "-l", "stdc++"]
    program = str(folder / "ask")
    subprocess.run(
        ["rustc", "--edition", "2021", "-D", "warnings", *links, str(folder / "ask.rs"), "-o", program], check=True
    )
    return program


@pytest.fixture(scope="module")
def dotnet(tmp_path_factory):
    """The program in C#, with the library beside it."""
    folder = tmp_path_factory.mktemp("dotnet")
    library = compile_program(folder, "bert_edge.cpp", flags=("-O2", "-shared", "-fPIC"))
    library.rename(folder / "libbert_edge.so")
    sources = [str(HERE / "Ask.cs"), str(SOURCES / "BertEdge.cs")]
    subprocess.run(["mcs", "-warnaserror", *sources, f"-out:{folder / 'Ask.exe'}"], check=True)
    program = folder / "ask"
    program.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{folder}" exec mono "{folder}/Ask.exe" "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("name", SETTINGS)
def test_rust_and_dotnet_have_the_same_answers(name, rust, dotnet, tmp_path):
    task = make_folder(name, tmp_path)
    check_answers([rust], tmp_path, task, "bytes")
    check_answers([dotnet], tmp_path, task, "utf16")


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ([[1.0, 2.0]], "an output must have 3 numbers for this row, got 2"),
        ([[1.0, 2.0, float("nan")]], "an output must hold finite numbers"),
        ([[1.0, 2.0, 3.0, 4.0]], "an output must have 3 numbers for this row, got 4"),
    ],
)
def test_refuses_outputs_that_do_not_fit(outputs, reason, program, tmp_path):
    make_folder("classification", tmp_path)
    with pytest.raises(AssertionError, match=reason):
        ask(in_c(program), tmp_path, [("film", None, None)], [outputs])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("task.json", "{}", "task.json must hold a task whose answers are known, got ''"),
        ("task.json", '{"task": "classification", "max_length": 32}', "task.json must hold labels, got none"),
        ("task.json", '{"task": "regression", "max_length": 0.5}', "max_length must be a whole number from 1 on"),
        ("task.json", "[" * 100, "a file must hold JSON, got something else at byte"),
        ("metrics.json", '{"calibration": {"temperature": 0}}', "calibration.temperature must be positive"),
        ("vocab.txt", "film\n", r"vocab.txt must hold \[CLS\]"),
        ("characters.txt", "dropped 0 x\n", "the tables of a tokenizer must hold lines of rules with numbers"),
        ("characters.txt", "kind bpe\n", "subwords.txt must hold a token for each of 256 bytes, got 0"),
    ],
)
def test_refuses_files_that_are_broken(name, content, reason, program, tmp_path):
    make_folder("classification", tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(AssertionError, match=reason):
        ask(in_c(program), tmp_path, [("film", None, None)])


def test_a_prompt_stands_in_front_of_a_text(program, tmp_path):
    prompts = Prompts(query="the plot: ", passage="a film: ")
    task = make_folder("embedding", tmp_path, prompts=prompts)
    prompted = [("great", None, "query"), ("the plot: great", None, None), ("great", None, "passage")]
    rows = [question.rows for question in ask(in_c(program), tmp_path, prompted)]
    assert rows[0] == rows[1] != rows[2]
    assert rows[2] == ask(in_c(program), tmp_path, [(task.prompts.passage + "great", None, None)])[0].rows
