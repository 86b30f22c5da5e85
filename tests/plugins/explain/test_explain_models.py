"""The reasons of every task's models: a student, its file, and their teacher."""

import random

import numpy as np
import pytest

from components.artifacts.standard import Model
from components.examples.registry import read_rows
from components.scoring.registry import TASK_SCORING
from components.sources.tagged_words import SentenceSource
from components.training.model_folder import read_model
from keras_bert.export.bundle import load_exported
from plugins.explain.agreement import compare
from plugins.explain.artifacts import Explanation
from plugins.explain.explain_models import explain_models
from tests.components.tuning_job import ANIMALS, TASKS, WORDS


def share(same_answers):
    """Of rows with the same answer; None for numbers."""
    return None if same_answers is None else float(same_answers.mean())


def explain(line, folder, **given):
    """The report of the step."""
    output = Explanation(folder / "explanation")
    output.path.mkdir()
    models = {"teacher": line.teacher, "student": line.student, **given}
    explain_models.run(edge=line.edge, examples=line.examples, explanation=output, rows=3, **models)
    return output.read()


@pytest.mark.parametrize(
    "task",
    [
        task if task == "classification" else pytest.param(task, marks=pytest.mark.long)
        for task in (*TASKS, "retrieval")
    ],
)
def test_a_student_and_its_file_beside_their_teacher(line, tmp_path, task):
    artifacts = line(task)
    report = explain(artifacts, tmp_path)
    teacher, student = read_model(artifacts.teacher), read_model(artifacts.student)
    rows = read_rows(artifacts.examples, "validation")[:3]
    texts, seconds = TASK_SCORING[task].texts(rows)
    assert report.rows == len(rows) == len(texts)
    by_student, by_file = report.agreements
    assert (by_student.model, by_file.model) == ("student", "model.tflite")
    agreement = compare(teacher, student, texts, seconds)
    assert by_student.same_answers == share(agreement.same_answers)
    correlations = agreement.rank_correlations[~np.isnan(agreement.rank_correlations)]
    assert by_student.compared == len(correlations)
    if len(correlations):
        assert by_student.rank_correlation == pytest.approx(np.median(correlations))
    np.testing.assert_allclose(by_student.attention_distances, agreement.attention_distances, atol=1e-4)
    of_file = compare(teacher, load_exported(artifacts.edge.path), texts, seconds)
    assert by_file.same_answers == share(of_file.same_answers)
    assert by_file.layers is by_file.attention_distances is None
    for row in by_student.different:
        assert row["text"] in texts
        assert len(row["words"]) == len(row["teacher"]) == len(row["model"])
    assert [heads.model for heads in report.heads] == ["teacher", "student"]
    for heads in report.heads:
        assert np.shape(heads.kinds) == np.shape(heads.entropies) == np.shape(heads.importances) == (1, 2)
        assert np.shape(heads.positions) == (2, 2)
        assert np.any(np.array(heads.loss_rises) != 0)
    assert [probes.model for probes in report.probes] == (
        ["teacher", "student"] if task == "token_classification" else []
    ), "of examples whose words are tagged"


def test_without_a_student_the_file_alone_is_compared(line, tmp_path):
    artifacts = line("classification")
    # As the launcher opens the inputs of a step: another object of the same folder.
    report = explain(artifacts, tmp_path, student=Model(artifacts.teacher.path))
    assert [agreement.model for agreement in report.agreements] == ["model.tflite"]
    assert [heads.model for heads in report.heads] == ["teacher"]


def write_treebank(file, sentences):
    """Writes sentences whose words all depend on the first one, animals as `ANIMAL`, all others as `WORD`."""
    blocks = [
        "".join(
            f"{number}\t{word}\t_\t{'ANIMAL' if word in ANIMALS else 'WORD'}\t_\t_\t{int(number > 1)}\t_\t_\t_\n"
            for number, word in enumerate(words, 1)
        )
        for words in sentences
    ]
    file.write_text("# a comment\n" + "\n".join(blocks))


def test_layers_are_probed_with_a_treebank(line, tmp_path):
    chance = random.Random(1)
    sentences = [[chance.choice(WORDS) for _ in range(5)] for _ in range(60)]
    write_treebank(tmp_path / "train.conllu", sentences[:40])
    write_treebank(tmp_path / "test.conllu", sentences[40:])
    source = SentenceSource(str(tmp_path / "train.conllu"), test=str(tmp_path / "test.conllu"), scheme="any")
    report = explain(line("classification"), tmp_path, probes=source)
    teacher = report.probes[0]
    assert (teacher.model, teacher.tags, teacher.train_words, teacher.test_words) == ("teacher", 2, 200, 100)
    assert len(teacher.accuracies) == len(teacher.selectivities) == 2, "embeddings and one layer"
    assert teacher.accuracies[0] == 1 > teacher.majority_accuracy, "embeddings tell words apart, which have a tag each"
    # Of five words, all but the second depend on one that is no neighbour.
    assert teacher.trees.chain_attachment_score == 0.25
