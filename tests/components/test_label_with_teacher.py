"""Rows with a teacher's answers: what is stored is what the teacher says, and a student learns the same from it."""

import itertools
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from components.artifacts.standard import Model, TaskExamples
from components.dsl.step_folders import StepFolders, set_step_folders, step_folders
from components.examples.registry import read_rows
from components.label_with_teacher import label_with_teacher
from components.sources.table import TableSource
from components.sources.text import TextSource
from components.training.model_folder import read_model
from keras_bert.data.neighbouring_pairs import neighbouring_pairs
from keras_bert.data.records import read_features
from keras_bert.data.task_batches import task_batches
from keras_bert.options.compression import TeacherLabels
from keras_bert.tasks.reranking import Reranking
from tests.components import tuning_job
from tests.components.tuning_job import Line
from tests.samples import long_but

Lines = Callable[[str], Line]


def answer(artifacts, folder, **settings):
    labelled = TaskExamples(folder / "labelled")
    labelled.path.mkdir(parents=True)
    models = {"teachers": [artifacts.blank], "pretrained": artifacts.pretrained}
    given = {**models, "examples": artifacts.examples, **settings}
    with tuning_job.eagerly():
        label_with_teacher.run(**given, labelled=labelled)
    return labelled


def rows_of(folder, split="train"):
    return [{name: value.numpy() for name, value in batch.items()} for batch in task_batches(folder, split, 1).epoch()]


def key(row):
    return row["token_ids"].tobytes() + row.get("second_token_ids", row["token_ids"]).tobytes()


@pytest.mark.parametrize("task", long_but(("classification",), tuning_job.TASKS))
def test_answers_are_the_teachers_to_the_rows_as_they_stand(line, tmp_path, task):
    artifacts = line(task)
    labelled = answer(artifacts, tmp_path, teacher_labels=TeacherLabels(copies=1, replaced=0.5, candidates=3))
    before, after = read_features(artifacts.examples.path)["counts"], read_features(labelled.path)["counts"]
    assert after == {"train": 2 * before["train"], "validation": before["validation"]}
    assert not any(labelled.path.glob("test*"))
    assert labelled.counts == {**after, "copies": before["train"]}
    teacher = artifacts.load("blank")
    objective, network = teacher.objective(), teacher.network()
    for split in ("train", "validation"):
        rows = rows_of(labelled.path, split)
        assert len(rows) == after[split]
        for row in rows[:: max(1, len(rows) // 6)]:
            expected = np.asarray(objective.run(network, row, training=False))
            if expected.ndim == 3:
                inside = row["padding_mask"] == 1
                filling = -120.0 if task == "question_answering" else 0.0
                assert (row["teacher_answers"][~inside] == filling).all()
                expected, row["teacher_answers"] = expected[inside], row["teacher_answers"][inside]
            np.testing.assert_allclose(row["teacher_answers"], expected, atol=1e-4)
    # The first half are the rows themselves, with labels of their own; the others have words replaced.
    answered, rows = rows_of(artifacts.examples.path), rows_of(labelled.path)
    labels = [name for name in answered[0] if name in ("label", "value", "positions")]
    assert sorted(map(key, rows[: len(answered)])) == sorted(map(key, answered))
    by_key = {key(row): row for row in answered}
    for row in rows[: len(answered)]:
        np.testing.assert_array_equal(row[labels[0]], by_key[key(row)][labels[0]])
    assert np.mean([key(row) in by_key for row in rows[len(answered) :]]) < 0.3
    for row in rows[len(answered) :]:
        if task == "classification":
            assert row["label"] == row["teacher_answers"].argmax()
        if task == "question_answering":
            length = int(row["padding_mask"].sum())
            np.testing.assert_array_equal(row["positions"][0], row["teacher_answers"][0, :length].argmax(axis=0))


def test_texts_without_labels_get_the_teachers_and_those_of_test_rows_are_counted_or_dropped(line, tmp_path):
    artifacts = line("classification")
    test, teacher = read_rows(artifacts.examples, "test")[0].text, artifacts.load("blank")
    (tmp_path / "more.txt").write_text(f"cow hen owl\noak fir\n\ncow hen owl\n  the old elm \n{test.upper()}\n")
    unlabelled, count = (
        TextSource(str(tmp_path / "more.txt")),
        read_features(artifacts.examples.path)["counts"]["train"],
    )
    texts = ["cow hen owl", "oak fir", "the old elm", test]
    expected = teacher.network().predict_on_batch(teacher.encode(texts))
    for overlap, kept in (("keep", 4), ("drop", 3)):
        labelled = answer(artifacts, tmp_path / overlap, unlabelled=unlabelled, overlap=overlap, near_overlap="off")
        assert labelled.counts["unlabelled_in_test"] == 1
        assert labelled.counts["unlabelled"] == kept, "each line once"
        rows = rows_of(labelled.path)
        assert len(rows) == count + kept
        for row, answers in zip(rows[count:], expected[:kept], strict=True):
            np.testing.assert_allclose(row["teacher_answers"][0], answers, atol=1e-4)
            assert row["label"] == answers.argmax()


def test_new_pairs_get_the_teachers_labels_and_those_of_test_rows_are_counted_or_dropped(line, tmp_path):
    artifacts = line("classification")
    words = "cow hen owl oak fir elm".split()
    texts, seconds = zip(
        *((f"{one} {two}", f"{two} {three}") for one, two, three in permutations(words, 3)), strict=True
    )
    pairs = neighbouring_pairs(texts, seconds, 2, seed=3)
    header, labels = "text\tother\tlabel", itertools.cycle(["yes", "no"])
    for name, columns in (("train", (texts, seconds)), ("test", [column[:2] for column in pairs])):
        lines = map("\t".join, zip(*columns, labels, strict=False))
        (tmp_path / f"{name}.tsv").write_text("\n".join([header, *lines]))
    paths = [str(tmp_path / f"{name}.tsv") for name in ("train", "train", "test")]
    examples = tuning_job.ingest(tmp_path, artifacts.vocabulary, TableSource(*paths, second_text="other"))
    count, teacher = read_features(examples.path)["counts"]["train"], artifacts.load("blank")
    expected = teacher.network().predict_on_batch(teacher.encode(*pairs))
    for overlap, kept in (("keep", len(expected)), ("drop", len(expected) - 2)):
        augmentation = {"teacher_labels": TeacherLabels(new_pairs=2, seed=3)}
        labelled = answer(
            artifacts, tmp_path / overlap, examples=examples, overlap=overlap, near_overlap="off", **augmentation
        )
        assert labelled.counts["new_pairs"] == kept
        assert labelled.counts["new_pairs_in_test"] == 2
        rows = rows_of(labelled.path)[count:]
        for row, answers in zip(rows, expected[len(expected) - kept :], strict=True):
            np.testing.assert_allclose(row["teacher_answers"][0], answers, atol=1e-4)
            assert row["label"] == answers.argmax()


def test_copies_and_texts_get_the_labels_that_reach_the_teachers_thresholds(line, tmp_path):
    artifacts, teacher = line("multi_label"), Model(tmp_path / "teacher")
    task = read_model(artifacts.blank)
    task.thresholds = [0.0, None]
    task.save(teacher.path)
    teacher.seal({})
    (tmp_path / "more.txt").write_text("cow hen owl\noak fir\n")
    unlabelled = TextSource(str(tmp_path / "more.txt"))
    settings = {"teacher_labels": TeacherLabels(copies=1), "unlabelled": unlabelled}
    labelled = answer(artifacts, tmp_path, teachers=[teacher], **settings)
    rows, count = rows_of(labelled.path), read_features(artifacts.examples.path)["counts"]["train"]
    assert [row["label"].tolist() for row in rows[count:]] == [[[1, 0]]] * (count + 2)
    assert len({tuple(row["label"][0]) for row in rows[:count]}) > 2, "rows keep labels of their own"


def test_copies_are_in_lists_of_their_own(line, tmp_path):
    artifacts, teacher = line("reranking"), Model(tmp_path / "teacher")
    start = read_model(artifacts.pretrained)
    Reranking.build(start.encoder, start.tokenizer, max_length=tuning_job.LENGTH).save(teacher.path)
    teacher.seal({})
    labelled = answer(artifacts, tmp_path, teachers=[teacher], teacher_labels=TeacherLabels(copies=2))
    lists = [batch["list"].numpy() for batch in task_batches(labelled.path, "train", 1).epoch()]
    # A list is a batch of its own, of the same rows as before.
    assert len(np.unique(np.concatenate(lists))) == len(lists) == 3 * len(lists[::3])
    assert {len(numbers) for numbers in lists} == {4}


def test_an_interrupted_step_makes_the_parts_that_are_missing(line, tmp_path, monkeypatch):
    monkeypatch.setattr("components.label_with_teacher._ROWS", 8)
    monkeypatch.setattr("components.label_with_teacher._BATCHES", 2)
    artifacts, before = line("regression"), step_folders()
    set_step_folders(StepFolders(checkpoints=tmp_path / "parts"))
    try:
        whole = answer(artifacts, tmp_path / "whole", teacher_labels=TeacherLabels(copies=1))
        parts = sorted((tmp_path / "parts").glob("*.tfrecord"))
        assert len(parts) > 3
        times = {part: part.stat().st_mtime_ns for part in parts}
        parts[2].unlink()
        again = answer(artifacts, tmp_path / "again", teacher_labels=TeacherLabels(copies=1))
    finally:
        set_step_folders(before)
    kept = [part for part in parts if part.stat().st_mtime_ns == times[part]]
    assert len(kept) == len(parts) - 1
    for split in ("train", "validation"):
        file = f"{split}.tfrecord"
        assert again.file(file).read_bytes() == whole.file(file).read_bytes()


def test_copies_of_test_rows_are_counted_or_dropped_also_after_an_interruption(line, tmp_path):
    artifacts = line("classification")
    train = tuning_job.write_rows(tmp_path, "classification").train
    source = TableSource(train, validation=train, test=train)
    examples = tuning_job.ingest(tmp_path, artifacts.vocabulary, source)
    copies = TeacherLabels(copies=1, replaced=0.05, candidates=3)
    set_step_folders(StepFolders(checkpoints=tmp_path / "parts"))
    try:
        counts = []
        for near_overlap in ("keep", "keep", "drop"):
            if near_overlap == "drop":
                set_step_folders(StepFolders(checkpoints=tmp_path / "others"))
            settings = {"examples": examples, "overlap": near_overlap, "near_overlap": near_overlap}
            counts.append(answer(artifacts, tmp_path / str(len(counts)), teacher_labels=copies, **settings).counts)
    finally:
        set_step_folders(StepFolders())
    rows = read_features(examples.path)["counts"]["train"]
    assert counts[0] == counts[1], "the second finds all parts of the first"
    assert counts[0]["copies"] == rows
    leaks = counts[0]["copies_in_test"] + counts[0]["copies_near_test"]
    assert leaks >= 0.9 * rows
    assert counts[2]["copies"] == rows - leaks
    assert counts[2]["train"] == 2 * rows - leaks
