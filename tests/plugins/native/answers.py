"""Asks the programs of these tests, and compares their rows and answers with the library's."""

import dataclasses
import json
import subprocess
from typing import NamedTuple

import numpy as np
import pytest

from keras_bert.clients.page import write_tokenizers
from keras_bert.export.bundle import load_exported
from keras_bert.export.sample_texts import SECONDS, TEXTS
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import make_task

# Names with vowel signs and accents, which no token covers, and a character of two UTF-16 units.
LONG = (
    "Ada met a great film, 2000 😀. The plot's \u0935\u093f\u0937\u094d\u0923\u0941, Zoe\u0301, \u2764\ufe0f was dull. "
    * 6
)
TEXTS_OF_TASK = (*TEXTS, LONG, "")


class Asked(NamedTuple):
    """What a program printed for a question: rows of ids and of segments, a number, a vector, and entries."""

    rows: list[list[list[int]]]
    number: float
    vector: list[float]
    entries: list[dict[str, object]]


def ask(command, folder, questions, outputs=None):
    """Runs a program on questions, each a text, a second text or None, and the name of a prompt or None.

    The program is told the folder. A line of input has the text, the second text and the prompt in hexadecimal UTF-8,
    `-` for None, and the outputs of each row, with tabs between them. A line of output has the rows, `id/segment` of
    each token, the number, the vector, and the entries: label, probability, given, sure, start, end and text.
    """
    lines = []
    for place, question in enumerate(questions):
        fields = ["-" if part is None else part.encode().hex() for part in question]
        values = [] if outputs is None else outputs[place]
        lines.append("\t".join([*fields, *(" ".join(f"{value:.9g}" for value in np.ravel(row)) for row in values)]))
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([*command[:1], str(folder), *command[1:]], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [_read(line) for line in done.stdout.splitlines()]


def _read(line):
    rows, number, vector, entries = line.split("\t")
    tokens = [[list(map(int, token.split("/"))) for token in row.split(" ")] for row in rows.split("|") if row]
    names = ("label", "probability", "is_given", "is_sure", "start", "end", "text")
    kinds = (_text, float, lambda flag: flag == "1", lambda flag: flag == "1", int, int, _text)
    parts = [
        {name: kind(field) for name, kind, field in zip(names, kinds, entry.split(";"), strict=True)}
        for entry in entries.split("|")
        if entry
    ]
    return Asked(
        [[list(column) for column in zip(*row, strict=True)] for row in tokens],
        float(number),
        [float(value) for value in vector.split()],
        parts,
    )


def _text(field):
    return bytes.fromhex(field).decode()


def make_folder(name, folder, calibration=None, **settings):
    """A pushed folder of a small task of `SETTINGS`, with tables for apps."""
    task = make_task(name)
    for field, value in settings.items():
        setattr(task, field, value)
    export_folder(task, folder)
    write_tokenizers(folder)
    write_calibration(folder, calibration)
    return load_exported(folder)


def write_calibration(folder, calibration):
    """Sets the calibration in the metrics of a folder."""
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps({**metrics, "calibration": calibration}))


def questions_of(task):
    """Single texts, pairs, or both, as a task takes them."""
    singles = [(text, None, None) for text in TEXTS_OF_TASK]
    pairs = [(text, second, None) for text, second in zip(TEXTS, SECONDS, strict=True)]
    pairs += [(TEXTS[0], LONG, None), (TEXTS[1], "", None)]
    return {"optional": singles + pairs, "required": pairs, "unused": singles, "compared": singles}[task.second_text]


# What offsets count -> the encoding whose units they are, and the bytes of a unit.
UNITS = {"bytes": ("utf-8", 1), "utf16": ("utf-16-le", 2), "code_points": ("utf-32-le", 4)}


def check_answers(command, folder, task, unit="code_points"):
    """Asserts that a program has the answers of the library; `unit`, of `UNITS`, is what its offsets count."""
    questions = questions_of(task)
    replies = ask(command, folder, questions)
    outputs = [[_run(task, row) for row in question.rows] for question in replies]
    answers = ask(command, folder, questions, outputs)
    encoding, width = UNITS[unit]
    for (text, second, _), question, answer in zip(questions, replies, answers, strict=True):
        assert answer.rows == question.rows
        _check_row(task, text, second, question)
        expected = (task.predict([text]) if second is None else task.predict([text], [second]))[0]
        source = text if second is None else second
        for entry in answer.entries:
            assert entry["end"] == entry["start"] + len(entry["text"].encode(encoding)) // width
            # As the library counts, code points.
            for name in ("start", "end"):
                entry[name] = len(source.encode(encoding)[: entry[name] * width].decode(encoding))
        _check(task, expected, answer)
    return answers


def _run(task, row):
    ids, segments = (np.array([column], "int32") for column in row)
    features = {"token_ids": ids, "segment_ids": segments, "padding_mask": np.ones_like(ids)}
    output = task.model.predict_on_batch(features)
    return np.asarray(output[task.output_name] if isinstance(output, dict) else output)[0]


def _check_row(task, text, second, question):
    """Long texts of words and of answers have several rows, which the answers show to be right."""
    if not task.truncates:
        return
    encoded = task.tokenizer.encode([text], None if second is None else [second], max_length=task.max_length)
    count = int(np.sum(encoded["padding_mask"]))
    names = ("token_ids", "segment_ids")
    assert question.rows == [[np.asarray(encoded[name])[0][:count].tolist() for name in names]]


def _check(task, expected, answer):
    if task.name == "classification":
        assert len(answer.entries) == len(task.labels)
        _check_entry(expected, answer.entries[0])
        assert sum(entry["probability"] for entry in answer.entries) == pytest.approx(1)
    elif task.name == "question_answering":
        _check_entry(expected, *answer.entries)
    elif isinstance(expected, list):
        chosen = [entry for entry in answer.entries if entry["is_given"]]
        assert len(chosen) == len(expected)
        for one, entry in zip(expected, chosen, strict=True):
            _check_entry(one, entry)
    elif task.name == "embedding":
        np.testing.assert_allclose(answer.vector, expected, atol=1e-5)
    else:
        assert answer.number == pytest.approx(float(expected), abs=1e-5)


def _check_entry(expected, entry):
    fields = dataclasses.asdict(expected)
    for name in fields.keys() & entry.keys():
        approximate = isinstance(fields[name], float)
        assert entry[name] == (pytest.approx(fields[name], abs=1e-5) if approximate else fields[name]), name
