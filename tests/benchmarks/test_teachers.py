"""Answers that a root holds are used again for the inputs that they were computed for, and for no others."""

import argparse

import numpy as np

from benchmarks import teachers
from components.sources.table import TextRow


class FakeTask:
    def fit(self, *_, **__):
        return [{"step": 1}]


def make_options(folder):
    for name, rows in (("train.csv", "One,a\nOther,b\nthird,a\nfourth,b\n"), ("test.csv", "one,a\n")):
        (folder / "banking77").mkdir(exist_ok=True)
        (folder / "banking77" / name).write_text(f"text,category\n{rows}")
    return argparse.Namespace(name="banking77", data=folder, texts=2, growth=[], checkpoint="small", root=folder)


def test_teacher_answers_all_texts_of_a_draw(monkeypatch, tmp_path):
    counts = []

    def predict(_, texts):
        counts.append(len(texts))
        return np.full((len(texts), 2), 0.5)

    monkeypatch.setattr(teachers, "build", lambda *_: FakeTask())
    monkeypatch.setattr(teachers, "probabilities", predict)
    options = make_options(tmp_path)
    rows = [TextRow("x", "a"), TextRow("y", "b")]
    draws = [teachers.Draw(["a", "b"], rows, [*"pqrstu"][:count], rows) for count in (2, 6)]
    sizes = [len(teachers.teach(options, draw, "0-0", 0)[0]) for draw in (*draws, *draws)]
    assert sizes == [2, 6, 2, 6]
    assert counts == [4, 8]
    teachers.teach(options, draws[0], "0-0", 0, "large")
    teachers.teach(options, draws[0], "0-0", 0, rows=1)
    assert counts == [4, 8, 4, 4]


def test_no_text_of_a_test_row_is_learned_from(tmp_path):
    draw = teachers.read_draw(make_options(tmp_path), 0)
    assert sorted(row.text for row in draw.rows) == ["Other", "fourth", "third"]
