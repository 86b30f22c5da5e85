"""Static models without an interpreter: C, Kotlin, Swift and the page's JavaScript, equal to Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.clients.page import write_tokenizers
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.options.export import Export
from plugins.static.models import build_static
from plugins.static.settings import StaticStudent
from plugins.static.table import StaticTable
from plugins.static.targets import CLIENTS, HEADER, TABLE, StaticC, StaticFile
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.recipes.test_texts import TEXTS, embedding

PROGRAM = """
#include <stdio.h>
#include "static_model.h"
int main(void) {
  int32_t ids[64];
  float vector[STATIC_MODEL_WIDTH];
  int count;
  const char *spaces[] = {"", STATIC_MODEL_SPACE, "0123456789abcdef"};
  for (int place = 0; place < 3; place += 1) printf("%d", static_model_has_space(spaces[place]));
  printf("\\n");
  while (scanf("%d", &count) == 1) {
    for (int place = 0; place < count; place += 1) if (scanf("%d", ids + place) != 1) return 1;
    printf("%d", static_model_embed(ids, (size_t)count, vector));
    for (int place = 0; place < STATIC_MODEL_WIDTH; place += 1) printf(" %.9g", vector[place]);
    printf("\\n");
  }
  return 0;
}
"""


def static_task(*, width=None, quantized=False, bits=None, **settings):
    """A static model with random vectors and weights."""
    chance, tokenizer = np.random.default_rng(0), embedding().tokenizer
    table = chance.normal(size=(tokenizer.vocabulary_size, 6)).astype("float32")
    task = build_static(table, tokenizer, weights=chance.random(len(table)).astype("float32"), max_length=8, **settings)
    task = task if width is None else task.projected(chance.normal(size=(6, width)).astype("float32"))
    task = StaticStudent(bits=bits).finish(task)
    if quantized:
        keras_bert.quantize(task, TEXTS, post_training=True)
    return task


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": False},
        {"width": 10},
        {"width": 10, "quantized": True},
        {"quantized": True, "ignored": ()},
        {"width": 10, "quantized": True, "bits": 4},
    ],
)
def test_the_header_of_c_gives_the_vectors_of_python(tmp_path, options):
    task = static_task(**options)
    source = ExportInputs(task, task.quantization, Export(), tmp_path)
    StaticC().write(source)
    (tmp_path / "main.c").write_text(PROGRAM)
    assert f'#define STATIC_MODEL_SPACE "{task.space}"' in (tmp_path / HEADER.name).read_text()
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", f"-I{(tmp_path / HEADER.name).parent}"]
    subprocess.run(["gcc", *flags, str(tmp_path / "main.c"), "-o", str(tmp_path / "main"), "-lm"], check=True)
    if shutil.which("g++"):
        in_cpp = ["g++", "-x", "c++", "-std=c++11", *flags[1:], "-fsyntax-only", str(tmp_path / "main.c")]
        subprocess.run(in_cpp, check=True)
    encoded = [*encoded_texts(task), np.array([task.tokenizer.vocabulary_size])]
    given = "".join(f"{len(row)} {' '.join(map(str, row))}\n" for row in encoded)
    done = subprocess.run([str(tmp_path / "main")], input=given, capture_output=True, text=True, check=True)
    spaces, *lines = done.stdout.splitlines()
    assert spaces == "110", "an index of another space is refused"
    numbers = np.array([line.split() for line in lines], "float64")
    counts, vectors = numbers[:, 0], numbers[:, 1:]
    assert counts[-1] == -1, "an id of no row"
    numbers_of_header = StaticTable.of(task)
    expected = np.stack([numbers_of_header.embed(row) for row in encoded[:-1]])
    np.testing.assert_allclose(vectors[:-1], expected, atol=1e-6)
    if "quantized" in options:
        np.testing.assert_allclose(vectors[: len(TEXTS)], task.predict(TEXTS), atol=1e-6)
    measured = StaticC().compare(source, HEADER, ComparisonRows(task.encode(TEXTS), lambda: TEXTS, 1.0))
    assert measured["least_cosine"] > 0.9999


def encoded_texts(task):
    """The ids of the texts, and those of a text without tokens."""
    rows = task.encode(TEXTS)
    ids = [row[mask == 1] for row, mask in zip(rows["token_ids"], rows["padding_mask"], strict=True)]
    return [*ids, np.array([task.tokenizer.cls_id, task.tokenizer.sep_id])]


def check_program(command, folder, options):
    """Compares the vectors that a program prints with those of Python."""
    task = static_task(**options)
    StaticFile().write(ExportInputs(task, task.quantization, Export(), folder))
    rows = encoded_texts(task)
    lines = "".join(f"{' '.join(map(str, ids))}\n" for ids in rows)
    program = [*command, str(folder / TABLE.name)]
    done = subprocess.run(program, input=lines, capture_output=True, text=True, check=True)
    space, of_unknown, of_same, of_other, *vectors = done.stdout.splitlines()
    assert (space, of_unknown, of_same) == (task.space, "ok", "ok")
    assert "0123456789abcdef" in of_other, "an index of another space is refused"
    expected = np.stack([StaticTable.of(task).embed(ids) for ids in rows])
    np.testing.assert_allclose(np.array([line.split() for line in vectors], "float64"), expected, atol=1e-6)


OPTIONS = [{"normalize": False}, {"width": 10, "quantized": True}, {"width": 10, "quantized": True, "bits": 4}]


@pytest.mark.kotlin
def test_kotlin_gives_the_vectors_of_python(tmp_path):
    from tests.clients.kotlin.compiler import compile_kotlin, program

    classes = compile_kotlin([CLIENTS[0], Path(__file__).with_name("Embed.kt")], tmp_path / "classes")
    for place, options in enumerate(OPTIONS):
        check_program(program("EmbedKt", classes), tmp_path / str(place), options)


@pytest.mark.swift
def test_swift_gives_the_vectors_of_python(tmp_path):
    sources = [str(CLIENTS[1]), str(Path(__file__).parent / "swift" / "main.swift")]
    subprocess.run(["swiftc", "-O", "-warnings-as-errors", *sources, "-o", str(tmp_path / "main")], check=True)
    for place, options in enumerate(OPTIONS):
        check_program([str(tmp_path / "main")], tmp_path / str(place), options)


def test_refuses_models_that_are_not_static(tmp_path):
    with pytest.raises(ValueError, match="static_c cannot take this model: only static models have such a file"):
        StaticC().write(ExportInputs(embedding(), None, Export(), tmp_path))
    for head in ({"pooling": "max"}, {"projections": [{"units": 5, "activation": "tanh"}]}):
        with pytest.raises(ValueError, match="static_c cannot take this model: its file has means and matrices, and"):
            StaticC().write(ExportInputs(static_task(**head), None, Export(), tmp_path))


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("options", OPTIONS)
def test_the_code_of_the_page_gives_the_vectors_of_the_file(tmp_path, options):
    task = static_task(**options)
    folder = export_folder(task, tmp_path)
    write_tokenizers(folder)
    file = "model_float32.tflite"
    rows = json.dumps([{"text": text} for text in TEXTS])
    script = Path(__file__).parents[2] / "clients" / "web" / "ask_page.mjs"
    command = ["node", str(script), str(folder), file]
    done = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)
    vectors = [row["answer"] for row in json.loads(done.stdout)]
    np.testing.assert_allclose(vectors, keras_bert.load(folder / file).predict(TEXTS), atol=1e-6)
