"""The table of labels in JavaScript, Kotlin and Swift: equal to Python after random changes, by golden operations."""

import base64
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.options.export import Export
from plugins.open_labels.golden import golden_operations
from plugins.open_labels.label_table import LabelTable
from plugins.open_labels.target import CLIENTS, GOLDEN_FILE, TABLE, LabelTableFile
from plugins.open_labels.task import open_labels
from tests.keras_bert.recipes.test_texts import TEXTS, embedding
from tests.plugins.open_labels.test_label_table import rows

HERE = Path(__file__).parent
WIDTH = 24
NAMES = [f"label {number}" for number in range(9)]
# What each client must refuse, and leave the table as it was.
WRONG = ["add\tlabel 0\t\t{one}", "add\t \t\t{one}", "examples\tnone\t\t{one}", "examples\tlabel 0\t\t",
         "rename\tlabel 0\tlabel 1\t", "rename\tnone\tother\t", "remove\tnone\t\t", "merge\t\t\t{other}",
         "merge\t\t\t{none}", "merge\t\t\t{narrow}"]  # fmt: skip
# The same, as numbers are not finite.
INFINITE = ["add\tnew\t\t{nan}", "add\tnew\t\t{inf}", "name\tnew\t\t{nan}", "examples\tlabel 0\t\t{inf}",
            "examples\tlabel 0\t\t{large}", "merge\t\t\t{sums}", "answer\t\t\t{nan}", "answer\t\t\t{inf}"]  # fmt: skip


@pytest.fixture(scope="module")
def table():
    vectors, labels, means = rows(NAMES, np.random.default_rng(0), count=12, width=WIDTH)
    table = LabelTable.fit(vectors, labels, names=NAMES, name_vectors=means + 1.0)
    table.add("added before", vectors[:3])
    return table


def check_client(command, table, folder):
    """Compares the answers, the export and the table of a client with those of Python."""
    (folder / "label_table.bin").write_bytes(table.as_bytes())
    operations = golden_operations(table)
    vectors, labels, means = rows(NAMES, np.random.default_rng(1), count=4, width=WIDTH)
    stranger = LabelTable.fit(vectors, labels, names=NAMES, name_vectors=means)
    stranger.add("new", vectors[:2])
    given = {"one": encode(vectors[:1].tobytes()), "other": encode(stranger.export())}
    given |= infinite(table) | damaged(table)
    wrong = [line.format(**given) for line in WRONG + INFINITE]
    done = subprocess.run(
        [*command, str(folder / "label_table.bin")],
        input="".join(f"{line}\n" for line in [*wrong, *operations]),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={**os.environ, "WIDTH": str(WIDTH)},
    )
    lines = done.stdout.split("\n")
    assert all(line.startswith("refused: ") for line in lines[: len(wrong)])
    assert all("vectors must be finite numbers" in line for line in lines[len(WRONG) : len(wrong)])
    *answers, exported, content = lines[len(wrong) : -1]
    expected = [line.split("\t") for line in operations if line.startswith("answer")]
    assert len(answers) == len(expected) == 100
    for answer, (_, label, probability, _, score) in zip(answers, expected, strict=True):
        their_label, *numbers = answer.split("\t")
        assert their_label == label
        np.testing.assert_allclose(np.array(numbers, "float64"), [float(probability), float(score)], atol=1e-4)
    ours, theirs = table.copy(), LabelTable.from_bytes(base64.b64decode(content))
    replay(ours, operations)
    assert theirs.labels == ours.labels
    assert theirs.space.digest() == ours.space.digest()
    np.testing.assert_allclose(theirs.scores(vectors), ours.scores(vectors), atol=1e-4)
    for merged in (first := table.copy(), second := table.copy()):
        merged.merge(base64.b64decode(exported) if merged is first else ours.export())
    np.testing.assert_allclose(first.scores(vectors), second.scores(vectors), atol=1e-4)


def infinite(table):
    """Vectors and an export of the table with numbers that are not finite, or whose sum is not, in base64."""
    sums = table["added before"].added_sums
    exported = table.export().replace(sums.tobytes(), np.full(WIDTH, np.nan, "float32").tobytes())
    one = np.arange(WIDTH) == 1
    arrays = {name: np.where(one, float(name), 0.5) for name in ("nan", "inf")} | {"large": np.full(WIDTH, 3e38)}
    vectors = {name: encode(np.stack([array] * 2).astype("float32").tobytes()) for name, array in arrays.items()}
    return {**vectors, "sums": encode(exported)}


def damaged(table):
    """Exports of no example, and of another width, in base64."""
    exported, count = table.export(), np.int32(table["added before"].added).tobytes()
    assert exported.count(b"added before" + count) == 1
    none = exported.replace(b"added before" + count, b"added before" + np.int32(-1).tobytes())
    narrow = exported[:8] + np.int32(WIDTH - 1).tobytes() + exported[12:-4]
    for content in (none, narrow):
        with pytest.raises(ValueError, match="content must be a whole export of labels"):
            table.copy().merge(content)
    return {"none": encode(none), "narrow": encode(narrow)}


def encode(content):
    return base64.b64encode(content).decode()


def replay(table, operations):
    """Applies golden operations as a client does."""
    for line in operations:
        kind, label, other, text, *_ = line.split("\t")
        content = base64.b64decode(text) if kind != "answer" else b""
        vectors = np.frombuffer(content, "<f4").reshape(-1, WIDTH) if kind in ("add", "name", "examples") else None
        if kind == "add":
            table.add(label, vectors)
        elif kind == "name":
            table.add(label, vectors[:0], vectors[0])
        elif kind == "examples":
            table.add_examples(label, vectors)
        elif kind == "rename":
            table.rename(label, other)
        elif kind == "remove":
            table.remove(label)
        elif kind == "merge":
            table.merge(content)
        elif kind == "undo":
            table.undo()


def test_golden_operations_hold_every_change_and_both_kinds_of_answers(table):
    lines = golden_operations(table)
    assert {line.split("\t")[0] for line in lines} == {
        *("add", "name", "examples", "rename", "remove", "merge", "undo", "answer")
    }
    answers = [line.split("\t") for line in lines if line.startswith("answer")]
    assert any(not label for _, label, *_ in answers)
    assert len({label for _, label, *_ in answers}) > 10
    assert lines == golden_operations(table)
    assert lines != golden_operations(table, seed=1)


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_javascript_equals_python_after_random_operations(table, tmp_path):
    module = tmp_path / "label_table.mjs"
    shutil.copyfile(CLIENTS[2], module)
    check_client(["node", str(HERE / "web" / "change.mjs"), str(module)], table, tmp_path)


@pytest.mark.kotlin
def test_kotlin_equals_python_after_random_operations(table, tmp_path):
    from tests.clients.kotlin.compiler import compile_kotlin, program

    classes = compile_kotlin([CLIENTS[0], HERE / "Change.kt"], tmp_path / "classes")
    check_client(program("ChangeKt", classes), table, tmp_path)


@pytest.mark.swift
def test_swift_equals_python_after_random_operations(table, tmp_path):
    sources = [str(CLIENTS[1]), str(HERE / "swift" / "main.swift")]
    subprocess.run(["swiftc", "-O", "-warnings-as-errors", *sources, "-o", str(tmp_path / "main")], check=True)
    check_client([str(tmp_path / "main")], table, tmp_path)


def test_the_target_writes_the_table_with_its_clients(tmp_path):
    task = open_labels(embedding(), TEXTS, [text.split()[0] for text in TEXTS])
    source, target = ExportInputs(task, None, Export(), tmp_path), LabelTableFile()
    target.write(source)
    folder = tmp_path / "label_table"
    assert {file.name for file in folder.iterdir()} == {
        *("label_table.bin", GOLDEN_FILE, "LabelTable.kt", "LabelTable.swift", "label_table.js")
    }
    assert LabelTable.from_bytes((tmp_path / TABLE.name).read_bytes()).labels == task.labels
    assert (folder / GOLDEN_FILE).read_text().splitlines() == golden_operations(task.table)
    measured = target.compare(source, TABLE, ComparisonRows(task.encode(TEXTS), lambda: TEXTS, 1.0))
    assert measured["labels"] == len(task.labels)
    with pytest.raises(
        ValueError, match="label_table cannot take this model: it writes the labels of the task 'open_l"
    ):
        target.write(ExportInputs(embedding(), None, Export(), tmp_path))
