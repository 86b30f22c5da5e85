"""A step of `[teacher]`: the queries of one model on the documents of another, as rows of the table of models."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.arrays import Array
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.examples.texts import split_texts
from components.scoring.base import choose_metric
from components.scoring.candidates import SHIPPED, find_candidates
from components.scoring.registry import TASK_SCORING
from components.scoring.retrieval import rank_rows
from components.sources.retrieval import QueryRow
from components.training.model_folder import read_model
from plugins.vectors.source import Release

if TYPE_CHECKING:
    from keras_bert.tasks.embedding import Embedding


@component(
    libraries=(
        "ai-edge-litert",
        "keras",
        "onnx",
        "onnxruntime",
        "scipy",
        "tensorflow",
        "tensorflow-text",
        "tokenizers",
    ),
    kind="measurement",
)
def measure_pairs(
    examples: Input[TaskExamples],
    teacher: Input[Model] | None,
    students: Input[list[Model]],
    edges: Input[list[EdgeModel]],
    further: Output[FurtherModels],
    metric: str = "",
    min_share: float = 0.0,
    release: Release | None = None,
) -> None:
    """Scores the queries of students on the documents of their teacher, which an index of the teacher holds.

    Of pairs of an embedding, first texts are queries and second ones documents. The student and the file that would be
    shipped are measured, for each seed.

    Args:
        examples: the rows, whose test split is read.
        teacher: the model that embeds documents; None for `release`.
        students: the float students, one a seed.
        edges: the exported files of each seed.
        further: the rows.
        metric: the metric that decides; empty for the main one of the task.
        min_share: the least ratio of the shipped file's score on the teacher's documents to that of the teacher.
        release: the version that was pushed and is the teacher; the table then has its row, too.

    Raises:
        InputError: the task has no such metric.
    """
    description, rows = examples.features(), read_rows(examples, "test")
    scoring = TASK_SCORING[description["task"]]
    metric = choose_metric(metric, scoring, ())
    candidates = find_candidates([], students, edges)
    shipped = next(name for name in SHIPPED if name in candidates)
    models = {name: candidates[name] for name in dict.fromkeys(("student", shipped)) if name in candidates}
    done, total = 0, 2 + sum(map(len, models.values()))
    embedder: Any = None if teacher is None else read_model(teacher)
    whose = "the teacher's documents"
    if release is not None:
        embedder, whose = release.load(), f"the documents of {release.name}"
    report_progress(done, total, whose)
    documents = embed_documents(embedder, rows)

    def score(name: str, task: Any) -> dict[str, float]:
        nonlocal done
        done += 1
        report_progress(done, total, f"queries of {name} on {whose}")
        return scoring.score(rows, answer_pairs(task, rows, embed_queries(task, rows), documents), ()).metrics

    goal = score("the teacher", embedder)
    table = {} if release is None else {release.name: MeasuredModel(SeedScores.table([goal]))}
    for name, seeds in models.items():
        table[f"{name}, on {whose}"] = MeasuredModel(SeedScores.table([score(name, seed.open()) for seed in seeds]))
    row, model = list(table.items())[-1]
    points, limit = 100 * model.metrics[metric].mean, 100 * goal[metric]
    rule = f"{metric} {points:.2f} must be at least teacher.min_share {min_share:g} of the teacher's {limit:.2f}"
    # A hair of tolerance: percentages of counts do not multiply exactly.
    verdicts = [(points >= min_share * limit - 1e-9, f"{row} {rule}")] if min_share else []
    further.write(FurtherRows(table, verdicts))


def embed_queries(task: "Embedding", rows: Sequence[Any]) -> Array:
    """The vectors of the queries of rows, or of the first texts of pairs (rows, width)."""
    if isinstance(rows[0], QueryRow):
        return task.predict([row.query for row in rows], prompt="query")
    return task.predict(split_texts(rows)[0])


def embed_documents(task: "Embedding", rows: Sequence[Any]) -> Array:
    """The vectors of the corpus of rows (passages, width), or of the second texts of pairs (rows, width)."""
    if isinstance(rows[0], QueryRow):
        return task.predict(SplitCorpus.of(rows).passages, prompt="passage")
    return task.predict(split_texts(rows)[1] or [])


def answer_pairs(task: "Embedding", rows: Sequence[Any], queries: Array, documents: Array) -> list[Any]:
    """The rankings of rows by the similarity of vectors, or the similarities of pairs."""
    if isinstance(rows[0], QueryRow):
        return rank_rows(SplitCorpus.of(rows), lambda part: task.compare(queries[part], documents))
    return task.compare_pairs(queries, documents)
