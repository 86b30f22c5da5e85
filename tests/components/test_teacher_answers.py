"""A teacher's answers in the user's data: they reach the records of each task, and models learn from them."""

import dataclasses
import json
from collections.abc import Callable

import numpy as np
import pytest

from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.distill import distill
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.label_with_teacher import label_with_teacher
from components.mine_hard_negatives import mine_hard_negatives
from components.scoring.scorer import ModelScorer
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from components.sources.teacher_columns import UnlabelledSource
from components.training.tuning import HeadSettings
from keras_bert.data.task_batches import task_batches
from keras_bert.options.compression import Distillation, Student
from keras_bert.options.fine_tuning import HardNegatives
from keras_bert.options.tables import DistillationSettings, FineTuningSettings
from tests.components import tuning_job
from tests.components.labelled_rows import ingest_source
from tests.components.tuning_job import LENGTH, TRAINING, Line, table
from tests.samples import long_but

Lines = Callable[[str], Line]


def write(folder, rows, name="rows.jsonl"):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / name)


def ingest(folder, checkpoint, source, **settings):
    vocabulary = Vocabulary(checkpoint / "vocabulary")
    return ingest_source(TaskExamples(folder / "examples"), vocabulary, source, max_length=LENGTH, **settings)


def batch_of(examples, split="train"):
    return {name: value.numpy() for name, value in next(iter(task_batches(examples.path, split, 100).epoch())).items()}


def kinds(count=40):
    """Rows of animals and plants, of which every second one has a label, and all answers of a teacher."""
    rows = []
    for number in range(count):
        is_animal, words = number // 2 % 2 == 0, [f"{'one ' * (number // 8)}{'old ' * (number % 8)}".strip()]
        words.append("cow hen" if is_animal else "oak fir")
        row = {
            "text": " ".join(words),
            "p": {"animal": 0.9, "plant": 0.1} if is_animal else {"plant": 0.8, "animal": 0.2},
        }
        rows.append({**row, **({"label": "animal" if is_animal else "plant"} if number % 2 else {})})
    return rows


def test_rows_without_labels_stay_in_training_and_have_flags(checkpoint, tmp_path):
    rows = [*kinds(), {"text": "owl", "label": "animal"}]
    examples = ingest(tmp_path, checkpoint, TableSource(write(tmp_path, rows), probabilities="p"))
    for split in ("train", "validation", "test"):
        batch, kept = batch_of(examples, split), read_rows(examples, split)
        assert batch["has_label"].tolist() == [int(not (row.teacher and row.teacher.is_label)) for row in kept]
        assert batch["has_answers"].tolist() == [int(bool(row.teacher)) for row in kept]
        numbers = [row.teacher.numbers if row.teacher else (0.0, 0.0) for row in kept]
        np.testing.assert_allclose(batch["teacher_answers"], numbers, atol=1e-6)
        assert split == "train" or batch["has_label"].all()
    counts = examples.features()["counts"]
    assert sum(counts.values()) == 41
    (scored,), reason = ModelScorer(examples.features(), 0).score_column(read_rows(examples, "test"))
    assert (scored.scores.metrics["accuracy"], reason) == (1.0, "")
    more = write(tmp_path, [{"text": "fox", "p": {"animal": 0.5, "plant": 0.5}}], "more.jsonl")
    source = TableSource(write(tmp_path, [row for row in rows if "label" in row]))
    again = ingest(tmp_path / "again", checkpoint, source, unlabelled=UnlabelledSource(more, probabilities="p"))
    assert batch_of(again)["has_label"].tolist()[-1] == 0
    assert batch_of(again)["has_answers"].sum() == 1


def test_answers_of_each_task_are_the_outputs_that_a_student_is_compared_with(checkpoint, tmp_path):
    words = [["cow", "hen", "the"], ["oak", "fir"], ["owl", "near"], ["fox"]]
    tagged = [{"words": part, "tags": ["O"] * len(part), "p": [{"O": 0.5, "X": 0.5}] * len(part)} for part in words * 3]
    for number, row in enumerate(tagged):
        row["words"] = [*row["words"], *["one"] * number]
        row["tags"], row["p"] = ["X", *["O"] * (len(row["words"]) - 1)], [*row["p"], *[[0.75, 0.25]] * number]
    del tagged[0]["tags"], tagged[1]["p"]
    source = SentenceSource(write(tmp_path, tagged), probabilities="p", labels=("O", "X"), scheme="any")
    examples = ingest(tmp_path / "tags", checkpoint, source)
    batch, rows = batch_of(examples), read_rows(examples, "train")
    for number, row in enumerate(rows):
        expected = np.reshape(row.teacher.numbers if row.teacher else np.zeros(2 * len(row.words)), (-1, 2))
        first_pieces = batch["label"][number] != -1
        np.testing.assert_allclose(batch["teacher_answers"][number][first_pieces], expected, atol=1e-6)
    queries = [
        {
            "query": f"{'one ' * number}cow",
            "passage": f"hen {'old ' * number}",
            "n": f"fir {'the ' * number}",
            "p": [2, 1],
        }
        for number in range(12)
    ]
    del queries[3]["p"]
    source = RetrievalSource(write(tmp_path, queries), negatives=("n",), probabilities="p")
    examples = ingest(tmp_path / "queries", checkpoint, source)
    batch, rows = batch_of(examples), read_rows(examples, "train")
    answered = [bool(row.teacher) for row in rows]
    assert batch["has_answers"].tolist() == answered
    assert batch["teacher_answers"].tolist() == [2.0 * one for one in answered]
    np.testing.assert_array_equal(batch["negative_scores"], [1.0 if one else np.nan for one in answered])


def test_scores_of_queries_stay_where_negatives_are_mined_and_texts_are_spelt_in_two_ways(checkpoint, tmp_path):
    queries = [
        {
            "query": f"{'one ' * number}cow",
            "passage": f"hen {'old ' * number}",
            "n": "fir  Oak" if number % 2 else "fir oak",
            "p": [2, 1],
        }
        for number in range(20)
    ]
    source = RetrievalSource(write(tmp_path, queries), negatives=("n",), probabilities="p")
    examples = ingest(tmp_path, checkpoint, source)
    before = batch_of(examples)
    np.testing.assert_array_equal(before["negative_scores"], 1.0)
    mined = TaskExamples(tmp_path / "mined")
    options = HardNegatives(count=1, margin=0.0)
    mine_hard_negatives.run(model=Model(checkpoint / "model"), examples=examples, mined=mined, hard_negatives=options)
    after = batch_of(mined)
    for name in ("teacher_answers", "has_answers", "has_label"):
        np.testing.assert_array_equal(after[name], before[name])
    assert np.isfinite(after["negative_scores"]).sum() == len(before["negative_scores"])
    assert np.isnan(after["negative_scores"]).sum() == mined.counts["mined"] > 0


@pytest.mark.parametrize("step", long_but(["fine_tune"], ["fine_tune", "distill"]))
def test_a_model_learns_from_the_answers_alone(checkpoint, tmp_path, step):
    """The answers contradict the labels: without a share of the labels, a model follows its teacher."""
    rows = kinds()
    for row in rows[1::2]:
        row["label"] = "plant" if row["label"] == "animal" else "animal"
    examples = ingest(tmp_path, checkpoint, TableSource(write(tmp_path, rows), probabilities="p"))
    model, distillation = Model(tmp_path / "model"), Distillation(hard_weight=0.0, temperature=1.0)
    training = dataclasses.replace(TRAINING, steps=60)
    if step == "fine_tune":
        given = {"distillation": distillation, "fine_tuning": table(FineTuningSettings, training, start_head="random")}
        fine_tune.run(**given, examples=examples, pretrained=Model(checkpoint / "model"), model=model)
    else:
        start, shape = Model(checkpoint / "model"), Student(num_heads=1)
        given = {"distillation": table(DistillationSettings, training, distillation), "new_head": HeadSettings()}
        distill.run(**given, examples=examples, teacher=start, student=model, shape=shape)
    task = tuning_job.read_model(model)
    answers = [answer.label for answer in task.predict(["one old old cow hen", "one old old oak fir"])]
    assert answers == ["animal", "plant"]
    probabilities = [answer.probability for answer in task.predict(["one old old cow hen", "one old old oak fir"])]
    np.testing.assert_allclose(probabilities, [0.9, 0.8], atol=0.15)


def test_several_teachers_answer_with_their_mean_probabilities(line, tmp_path):
    artifacts = line("classification")
    labelled = TaskExamples(tmp_path / "labelled")
    labelled.path.mkdir()
    other, task = Model(tmp_path / "other"), tuning_job.read_model(artifacts.teacher)
    task.model.get_layer("classifier").bias.assign([3.0, -3.0])
    task.save(other.path)
    other.seal({})
    given = {"pretrained": artifacts.pretrained, "examples": artifacts.examples, "labelled": labelled}
    with tuning_job.eagerly():
        label_with_teacher.run(**given, teachers=[artifacts.teacher, other])
    batch = batch_of(labelled)
    shares = []
    for model in (artifacts.teacher, other):
        network = tuning_job.read_model(model).network()
        logits = network.predict_on_batch({spec.name: batch[spec.name] for spec in network.inputs})
        shares.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(np.exp(batch["teacher_answers"]), np.mean(shares, axis=0), atol=1e-5)
