"""Queries of students on the documents of their teacher: the rows of the table, and the limit for them."""

import shutil

import numpy as np
import pytest

from components.artifacts.evaluation import Blessing, Evaluation, FurtherModels
from components.artifacts.standard import EdgeModel, Model, Vocabulary
from components.dsl.errors import InputError
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.metrics.retrieval import rank_scores, retrieval_scores
from keras_bert.tasks.embedding import Embedding
from plugins.vectors import pieces
from plugins.vectors.measure_pairs import answer_pairs, embed_sides, measure_pairs
from plugins.vectors.source import Release
from plugins.vectors.steps import TaughtVectors, adopt_model, embed_texts
from tests.components import tuning_job

ROW = "student, on the teacher's documents"


@pytest.fixture(scope="module", params=["retrieval", "embedding"])
def models(request, tmp_path_factory):
    """Rows, a teacher, and a model whose vectors point the other way."""
    folder = tmp_path_factory.mktemp(request.param)
    tuning_job.write_checkpoint(folder, num_layers=2)
    examples = tuning_job.ingest(
        folder, Vocabulary(folder / "vocabulary"), tuning_job.write_rows(folder, request.param)
    )
    teacher, other = Model(folder / "teacher"), Model(folder / "other")
    with tuning_job.eagerly():
        adopt_model.run(pretrained=Model(folder / "model"), examples=examples, model=teacher)
        task = read_model(teacher)
        # The scale and the offset of the last layer normalization: its vectors point the other way.
        for weight in task.network().weights[-2:]:
            weight.assign(-weight.numpy())
        task.save(other.path)
    other.seal({})
    return {"examples": examples, "teacher": teacher, "other": other}


def measure(models, folder, students, **options):
    further = FurtherModels(folder / "further")
    given = {"examples": models["examples"], "teacher": models["teacher"], "edges": []}
    with tuning_job.eagerly():
        measure_pairs.run(**given, students=students, further=further, **options)
    return further


def test_row_has_the_scores_of_a_search_with_the_vectors_of_both_models(models, tmp_path):
    rows = read_rows(models["examples"], "test")
    teacher, other = read_model(models["teacher"]), read_model(models["other"])
    table, verdicts, *_ = measure(models, tmp_path, [models["teacher"], models["other"]]).read()
    assert (list(table), verdicts) == ([ROW], [])
    if models["examples"].features()["task"] == "embedding":
        pairs = zip(other.predict([r.text for r in rows]), teacher.predict([r.second_text for r in rows]), strict=True)
        cosines = [float(one @ two) for one, two in pairs]
        labels = [float(row.label) for row in rows]
        assert table[ROW].metrics["pearson"].seeds[1] == pytest.approx(np.corrcoef(cosines, labels)[0, 1], abs=1e-4)
        return
    corpus = SplitCorpus.of(rows)
    documents = teacher.predict(corpus.passages, prompt="passage")
    for seed, task in enumerate((teacher, other)):
        similarities = task.predict([row.query for row in rows], prompt="query") @ documents.T
        ranks = [rank_scores(*row) for row in zip(similarities, corpus.relevant, strict=True)]
        for name, score in retrieval_scores(ranks).items():
            assert table[ROW].metrics[name].seeds[seed] == pytest.approx(score)


def export(task, folder, kind=None):
    """The file of a task and its settings in a folder, as the folder of a version or as an artifact."""
    folder.mkdir(parents=True)
    with tuning_job.eagerly():
        task.export(folder / "model.onnx")
    task.save_settings(folder)
    if kind is None:
        return folder
    artifact = kind(folder)
    artifact.seal({})
    return artifact


def test_truncated_files_search_the_first_numbers_of_the_documents(models, tmp_path):
    """The widths of the vectors differed, and the step stopped after all trainings."""
    teacher, edge = (
        read_model(models["teacher"]),
        export(read_model(models["teacher"]).truncated(4), tmp_path / "e", EdgeModel),
    )
    row = "onnx float32, on the teacher's documents"
    given = {"edges": [edge], "sizes": [edge], "names": ("tiny",)}
    further = FurtherModels(tmp_path / "further")
    with tuning_job.eagerly():
        measure_pairs.run(
            examples=models["examples"],
            teacher=models["teacher"],
            students=[models["teacher"]],
            further=further,
            **given,
        )
        table = further.read().models
        whole = teacher.truncated(4)
        rows = read_rows(models["examples"], "test")
        expected = score(models, rows, embed_sides(whole, rows))
    assert "teacher, on the documents of tiny" in table
    for name in (row, "teacher, on the documents of tiny", "tiny"):
        assert {metric: scores.mean for metric, scores in table[name].metrics.items()} == pytest.approx(
            expected, abs=1e-5
        )


def score(models, rows, sides):
    scoring = TASK_SCORING[models["examples"].features()["task"]]
    return scoring.score(rows, answer_pairs(rows, sides, sides), ()).metrics


@pytest.mark.parametrize("function", ["cosine", "dot"])
def test_the_model_of_the_documents_compares_vectors(models, function):
    """The model of the queries did: a dot product of a query with documents of other lengths has another order."""
    teacher, rows = read_model(models["teacher"]), read_rows(models["examples"], "test")
    of_documents, of_queries = (
        Embedding.build(teacher.encoder, teacher.tokenizer, max_length=16, normalize=False, similarity_function=name)
        for name in (function, "manhattan")
    )
    with tuning_job.eagerly():
        documents, queries = embed_sides(of_documents, rows), embed_sides(of_queries, rows)
    assert answer_pairs(rows, queries, documents) == answer_pairs(rows, documents, documents)
    # The first numbers of normalized vectors have the length 1 again, and other ones do not.
    for normalize in (True, False):
        short, long = (documents._replace(is_normalized=normalize, queries=v) for v in (documents.queries[:, :4],) * 2)
        cut = documents.documents[:, :4]
        cut = cut / np.linalg.norm(cut, axis=1, keepdims=True) if normalize else cut
        expected = answer_pairs(rows, short, long._replace(documents=cut))
        assert answer_pairs(rows, short, long) == expected


def test_a_release_is_a_teacher_with_a_row_of_its_own(models, tmp_path):
    task, folder = read_model(models["teacher"]), tmp_path / "pushed/search/3"
    folder.mkdir(parents=True)
    with tuning_job.eagerly():
        task.export(folder / "model.onnx")
    task.save_settings(folder)
    release = Release(str(folder))
    given = {**models, "teacher": None}
    table = measure(given, tmp_path, [models["teacher"]], release=release).read().models
    assert list(table) == ["search/3", "student, on the documents of search/3"]
    old, new = (model.metrics for model in table.values())
    assert {name: score.mean for name, score in new.items()} == pytest.approx(
        {name: score.mean for name, score in old.items()}, abs=1e-5
    )
    taught = TaughtVectors(tmp_path / "taught")
    with tuning_job.eagerly():
        vocabulary = Vocabulary(models["examples"].path.parent / "vocabulary")
        embed_texts.run(vocabulary=vocabulary, examples=models["examples"], taught=taught, release=release)
    assert taught.features()["space"] == task.space
    for change, message in (
        (lambda: (folder / "model.onnx").unlink(), r"3, which lacks model\.tflite"),
        (lambda: shutil.rmtree(folder), r"pushed and still exists, .*3, which is none"),
    ):
        change()
        with pytest.raises(InputError, match=rf"^teacher\.space must be a version .*{message}$"):
            release.check()


def test_a_ladder_has_a_row_for_each_pair_and_limits_by_pair(models, tmp_path):
    edge = EdgeModel(tmp_path / "edge")
    edge.path.mkdir()
    task = read_model(models["teacher"])
    with tuning_job.eagerly():
        task.export(edge.path / "model.onnx")
    task.save_settings(edge.path)
    edge.seal({})
    given = {"sizes": [edge], "names": ("tiny",), "limits": {"tiny": {"student": 0.9, "tiny": 1.0}}}
    table, verdicts, *_ = measure(models, tmp_path, [models["teacher"]], **given).read()
    assert list(table) == [
        "teacher, on the documents of student",
        "teacher, on the documents of tiny",
        ROW,
        "student, on the documents of tiny",
        "tiny, on the teacher's documents",
        "tiny, on the documents of student",
        "tiny",
    ]
    assert [name for name, model in table.items() if model.megabytes and model.milliseconds] == ["tiny"]
    (metric, *_), first = table[ROW].metrics, table[ROW].metrics
    for model in table.values():
        assert model.metrics[metric].mean == pytest.approx(first[metric].mean, abs=1e-5)
    assert [rule.partition(" must")[0].rpartition(" ")[0].rpartition(" ")[0] for _, rule in verdicts] == [
        "tiny, on the documents of student",
        "tiny",
    ]
    assert verdicts[0][0]


def test_documents_are_searched_by_their_sentences_as_well(models, tmp_path, monkeypatch):
    if models["examples"].features()["task"] == "embedding":
        return
    # Words of these rows' passages are their sentences, as they have no full stops.
    monkeypatch.setattr(pieces, "split_sentences", str.split)
    teacher, other = read_model(models["teacher"]), read_model(models["other"])
    table = measure(models, tmp_path, [models["other"]], document_sentences=True).read().models
    assert list(table) == [
        *("teacher, by sentences", "teacher, on the documents of student"),
        *("teacher, on the documents of student, by sentences", ROW, f"{ROW}, by sentences", "student, by sentences"),
    ]
    rows = read_rows(models["examples"], "test")
    corpus = SplitCorpus.of(rows)
    texts = [
        [passage, *(words if len(words) > 1 else ())] for passage in corpus.passages for words in [passage.split()]
    ]
    for name, task in (("teacher, by sentences", teacher), (f"{ROW}, by sentences", other)):
        queries = task.predict([row.query for row in rows], prompt="query")
        best = [(queries @ teacher.predict(part, prompt="passage").T).max(axis=1) for part in texts]
        ranks = [rank_scores(*row) for row in zip(np.stack(best, axis=1), corpus.relevant, strict=True)]
        for metric, score in retrieval_scores(ranks).items():
            assert table[name].metrics[metric].mean == pytest.approx(score)


def test_a_student_below_the_limit_is_not_pushed(models, tmp_path):
    given = {"examples": models["examples"], "teachers": [models["teacher"]], "edges": [], "baselines": False}
    scores, holds = {}, {}
    for name in ("teacher", "other"):
        further = measure(models, tmp_path / name, [models[name]], limits={"student": {"teacher": 1.0}})
        evaluation, blessing = (kind(tmp_path / f"{name}-{kind.__name__}") for kind in (Evaluation, Blessing))
        with tuning_job.eagerly():
            evaluate.run(**given, students=[models[name]], further=[further], evaluation=evaluation, blessing=blessing)
        assert ROW in evaluation.read().models
        scores[name] = evaluation.read().models[ROW].metrics[evaluation.read().metric].mean
        (reason,) = [reason for reason in blessing.read().reasons if ROW in reason]
        assert f"must be at least min_share 1 of the teacher's {100 * scores['teacher']:.2f} on its own" in reason
        holds[name] = reason.startswith("yes")
        assert holds[name] or not blessing.read().blessed
    assert holds == {name: score >= scores["teacher"] for name, score in scores.items()}
