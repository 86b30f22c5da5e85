"""The task `open_labels` in a job: every step, the table of models, the pushed file, and rows that are refused."""

import json
import random
import re

import numpy as np
import pytest

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.standard import Model
from components.dsl.errors import InputError
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.push import push
from components.scoring.blessing import UNTRAINED
from keras_bert.export.bundle import load_exported
from pipeline.job.checks import check_data
from pipeline.job.files import make_settings
from pipeline.settings.schema import Settings
from plugins.open_labels.rows import OpenLabelsRows, OpenLabelsSource, OpenRow
from plugins.open_labels.scoring import OpenAnswer, OpenLabelsScoring
from plugins.open_labels.task import OpenLabels
from tests.components.tuning_job import OTHERS, Line, eagerly, ingest

LABELS = ("cow", "hen", "oak", "fir", "elm")


def write_rows(folder, count=60, labels=LABELS):
    """Texts whose label is the word that stands in them three times."""
    chance = random.Random(0)
    lines = ["text\tlabel\n"]
    for number in range(count):
        words = [labels[number % len(labels)]] * 3 + [chance.choice(OTHERS) for _ in range(4)] + [chance.choice(labels)]
        chance.shuffle(words)
        lines.append(f"{' '.join(words)}\t{labels[number % len(labels)]}\n")
    (folder / "rows.tsv").write_text("".join(lines))
    return str(folder / "rows.tsv")


class OpenLine(Line):
    @property
    def examples(self):
        if "examples" not in self._loaded:
            source = OpenLabelsSource(write_rows(self._folder), held_out_labels=("elm",))
            self._loaded["examples"] = ingest(self._folder, self.vocabulary, source)
        return self._loaded["examples"]


@pytest.fixture(scope="module")
def line(checkpoint, tmp_path_factory):
    return OpenLine("open_labels", checkpoint, tmp_path_factory.mktemp("open"))


def test_no_training_reads_a_held_out_label(line):
    from keras_bert.data.task_batches import task_batches

    content = line.examples.features()
    assert content["settings"]["labels"] == sorted(LABELS[:4])
    assert set(content["labels"]["train"]) == set(LABELS[:4])
    rows = {split: read_rows(line.examples, split) for split in ("train", "validation", "test")}
    texts = {split: {row.text for row in rows[split]} for split in rows}
    for split in ("validation", "test"):
        (examples,) = {row.examples for row in rows[split] if row.label == "elm"} or {()}
        assert all(row.examples == () for row in rows[split] if row.label != "elm")
        assert not {*examples} & (texts["train"] | texts["validation"] | texts["test"])
        trained = [row for row in rows[split] if row.label != "elm"]
        batch = next(iter(task_batches(line.examples.path, split, 60).epoch()))
        assert len(batch["passage_group"]) == len(trained)
    test_examples = {row.examples for row in rows["test"] if row.label == "elm"}
    assert [len(examples) for examples in test_examples] == [8]


def test_each_record_has_another_text_of_its_label(line):
    from keras_bert.data.task_batches import task_batches

    tokenizer = line.load("blank").tokenizer
    labels = {
        tuple(np.asarray(tokenizer.encode([row.text], max_length=16)["token_ids"])[0]): row.label
        for row in read_rows(line.examples, "train")
    }
    batch = next(iter(task_batches(line.examples.path, "train", 60).epoch()))
    sides = [np.asarray(batch[name]) for name in ("token_ids", "second_token_ids")]
    padded = [[tuple(np.pad(ids, (0, 16 - len(ids)))) for ids in side] for side in sides]
    firsts, seconds = ([labels[ids] for ids in side] for side in padded)
    assert firsts == seconds
    assert sum(one == other for one, other in zip(*padded, strict=True)) < 3
    names = line.examples.features()["settings"]["labels"]
    assert [names[group] for group in np.asarray(batch["passage_group"])] == firsts


def test_the_checkpoint_without_fine_tuning_has_a_table_of_the_training_rows(line, tmp_path):
    """It had none, and no job that scores it came to an end."""
    teacher, evaluation = Model(tmp_path / "teacher"), Evaluation(tmp_path / "evaluation")
    task, rows = line.load("blank"), read_rows(line.examples, "train")
    given = {"teachers": [teacher], "students": [], "edges": [], "checkpoint": line.pretrained, "baselines": False}
    with eagerly():
        task.fit_labels([row.text for row in rows], [row.label for row in rows])
        task.save(teacher.path)
        teacher.seal({})
        evaluate.run(examples=line.examples, evaluation=evaluation, blessing=Blessing(tmp_path / "blessing"), **given)
    models = json.loads(evaluation.file("metrics.json").read_text())["models"]
    assert models[UNTRAINED]["metrics"] == models["teacher"]["metrics"]


def test_scores_of_a_diagnosis_have_a_table_of_the_present_model(line):
    diagnose = pytest.importorskip("plugins.doctor.diagnose")
    task, rows = line.load("blank"), read_rows(line.examples, "train")
    score = diagnose._Score(task, line.examples, 100)
    with eagerly():
        expected = score()
        task.fit_labels([row.text for row in rows], [row.label for row in rows[1:] + rows[:1]])
        assert score() == expected


@pytest.mark.long
def test_a_student_and_its_file_are_explained_beside_their_teacher(line, tmp_path):
    steps = pytest.importorskip("plugins.explain.explain_models")
    explanation = pytest.importorskip("plugins.explain.artifacts").Explanation(tmp_path / "explanation")
    explanation.path.mkdir()
    given = {"teacher": line.teacher, "student": line.student, "edge": line.edge, "examples": line.examples}
    steps.explain_models.run(**given, explanation=explanation, rows=3)
    report = explanation.read()
    assert [agreement.model for agreement in report.agreements] == ["student", "model.tflite"]
    assert all(agreement.same_answers is not None for agreement in report.agreements)
    assert [heads.model for heads in report.heads] == ["teacher", "student"]


@pytest.mark.long
def test_every_step_up_to_a_pushed_file(line, tmp_path):
    evaluation, blessing = Evaluation(tmp_path / "evaluation"), Blessing(tmp_path / "blessing")
    files = {"teachers": [line.teacher], "students": [line.student], "edges": [line.edge]}
    evaluate.run(examples=line.examples, evaluation=evaluation, blessing=blessing, checkpoint=line.pretrained, **files)
    metrics = json.loads(evaluation.file("metrics.json").read_text())
    scores = {
        name: {metric: values["mean"] for metric, values in row["metrics"].items()}
        for name, row in metrics["models"].items()
    }
    assert {"teacher", "student", "tflite int8", "bag of n-grams", "majority class"} < scores.keys()
    assert all([*row] == [*OpenLabelsScoring().metrics(())] for row in scores.values())
    assert scores["teacher"]["accuracy"] > scores["majority class"]["accuracy"]
    assert scores["teacher"]["trained_before"] > 0.7
    assert scores["teacher"]["added_8"] > 0.5
    # Whether files as small as these are blessed is chance.
    blessing.file("blessing.json").write_text(json.dumps({"blessed": True, "reasons": []}))
    pushed = Pushed(tmp_path / "pushed")
    push.run(
        edges=files["edges"],
        evaluation=evaluation,
        blessing=blessing,
        examples=line.examples,
        pushed=pushed,
        folder=str(tmp_path / "models"),
        name="mine",
    )
    assert "new LabelTable" in (tmp_path / "models" / "1" / "index.html").read_text()
    task = load_exported(tmp_path / "models" / "1")
    assert isinstance(task, OpenLabels)
    assert task.labels == tuple(sorted(LABELS[:4]))
    task.add_label("elm", next(row.examples for row in read_rows(line.examples, "test") if row.examples))
    label, probability, _ = next(task.answer_values(["the elm elm near elm old one"]))
    assert label in ("elm", "")
    assert 0 < probability <= 1


@pytest.mark.long
def test_each_model_has_a_table_of_its_own_vectors(line):
    rows = read_rows(line.examples, "train")
    for name in ("teacher", "student", "quantized"):
        task = line.load(name)
        again = task.table.fit(
            task.predict([row.text for row in rows]),
            [row.label for row in rows],
            names=task.labels,
            name_vectors=task.predict([*task.labels]),
        )
        np.testing.assert_allclose(again.space.center, task.table.space.center, atol=0.1 * (name == "quantized") + 1e-5)


def test_scores_of_answers():
    rows = [OpenRow("a", "x"), OpenRow("b", "y"), OpenRow("c", "new", ("d",)), OpenRow("e", "new", ("d",))]
    answers = [
        OpenAnswer("x", 3.0, ("x", "x", "x", "x")),
        OpenAnswer("y", 1.0, ("new", "y", "y", "new")),
        OpenAnswer("x", 2.0, ("new", "x", "new", "new")),
        OpenAnswer("y", 0.0, ("y", "y", "new", "y")),
    ]
    scoring = OpenLabelsScoring()
    expected = {
        "accuracy": 0.5,
        "trained": 0.5,
        "trained_before": 1.0,
        "added_8": 0.5,
        "added_3": 1.0,
        "added_1": 0.0,
        "added_by_name": 0.5,
        "none_auroc": 0.75,
    }
    assert scoring.score(rows, answers, ("x", "y")).metrics == expected
    assert [*expected] == [*scoring.metrics(("x", "y"))]
    for name in [*expected][:-1]:
        measure = scoring.sample_measure(name, rows, answers, ("x", "y"))
        assert measure(np.ones((1, 4)))[0] == pytest.approx(expected[name])
    assert [*scoring.score(rows[:2], answers[:2], ("x", "y")).metrics] == ["accuracy", "trained", "trained_before"]
    assert [mistake.answer for mistake in scoring.mistakes(rows, answers, None).rows] == ["new", "y"]


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        (["ash"], "examples.held_out_labels has 'ash', which no training row has"),
        (["el"], "examples.held_out_labels has 'el', which no training row has; did you mean 'elm'?"),
        (4, "examples.held_out_labels must leave at least 2 of 5 labels for the training, got 4"),
        ([*LABELS[1:]], "examples.held_out_labels must leave at least 2 of 5 labels for the training, got 4"),
        (-1, "examples.held_out_labels"),
    ],
)
def test_refuses_held_out_labels_before_any_training(checkpoint, tmp_path, held_out, message):
    with pytest.raises(InputError, match=re.escape(message)):
        check_data(job(checkpoint, tmp_path, {"held_out_labels": held_out}))


def test_refuses_a_description_of_no_label_before_any_training(checkpoint, tmp_path):
    message = "examples.descriptions has 'hem', which no training row has; did you mean 'hen'?"
    with pytest.raises(InputError, match=re.escape(message)):
        check_data(job(checkpoint, tmp_path, {"descriptions": {"hem": "lays eggs"}}))


def test_labels_are_named_with_their_descriptions(line, tmp_path):
    source = OpenLabelsSource(
        write_rows(tmp_path), held_out_labels=("elm",), descriptions={"elm": "a tree", "cow": "gives milk"}
    )
    examples = ingest(tmp_path, line.vocabulary, source)
    rows = {split: read_rows(examples, split) for split in ("train", "test")}
    task, seen = line.load("blank"), []
    texts = {*(row.text for split in rows for row in rows[split])}
    task.predict = lambda given, **_: seen.extend(given) or OpenLabels.predict(task, given)
    task.tune(*OpenLabelsRows().tuning_columns(rows["train"]))
    assert [text for text in seen if text not in texts] == ["cow gives milk", "fir", "hen", "oak"]
    seen.clear()
    OpenLabelsScoring().answer(task, rows["test"])
    assert "elm a tree" in seen


def job(checkpoint, folder, examples, **tables) -> Settings:
    """The settings of a job with these fields of `[examples]` and further tables."""
    source = {"task": "open_labels", "train": write_rows(folder), **examples}
    return make_settings(
        {"max_length": 16, "checkpoint": {"path": str(checkpoint / "model")}, "examples": source, **tables}
    )


def test_refuses_a_test_file_that_measures_no_added_label(checkpoint, tmp_path):
    (tmp_path / "test.tsv").write_text("text\tlabel\nthe cow\tcow\nold oak\toak\n")
    settings = job(checkpoint, tmp_path, {"test": str(tmp_path / "test.tsv"), "held_out_labels": ["elm"]})
    message = "test must have rows of each of examples.held_out_labels, got none of 'elm'"
    with pytest.raises(InputError, match=re.escape(message)):
        check_data(settings)


def test_says_which_labels_are_held_out(checkpoint, tmp_path):
    assert any(
        "1 labels are held out, no training reads them: " in line
        for line in check_data(job(checkpoint, tmp_path, {"held_out_labels": 1}))
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"contrast": {"scale": 10.0}}, "contrast is only allowed for the task 'retrieval', got it for 'open_labels'"),
        (
            {"teacher_labels": {}, "student": {"num_layers": 1}},
            "teacher_labels must be left out for the task 'open_labels', whose loss compares",
        ),
        ({"fine_tuning": {"batch_size": 1}}, "fine_tuning.batch_size must leave at least 2 rows in a part of a batch"),
        ({"few_shot": {}}, "few_shot is only allowed for classification and multi_label, got it for open_labels"),
        ({"export": {"dimension": 8}}, "export.dimension is only allowed for embedding and retrieval"),
    ],
)
def test_refuses_tables_of_other_tasks(checkpoint, tmp_path, tables, message):
    with pytest.raises(InputError, match=re.escape(message)):
        check_data(job(checkpoint, tmp_path, {}, **tables))
