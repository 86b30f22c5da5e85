"""A step of `[teacher]`: the queries of one model on the documents of another, as rows of the table of models."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.arrays import Array
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.examples.texts import split_texts
from components.scoring.base import choose_metric
from components.scoring.blessing import STUDENT, TEACHER
from components.scoring.candidates import SHIPPED, ScoredFile, find_candidates, measure_size, read_timed_rows
from components.scoring.registry import TASK_SCORING
from components.scoring.retrieval import rank_rows
from components.sources.retrieval import QueryRow
from components.training.model_folder import read_model
from keras_bert.options.data import SimilarityFunction
from plugins.vectors.pieces import Pieces
from plugins.vectors.source import Release

if TYPE_CHECKING:
    from keras_bert.tasks.embedding import Embedding


class Sides(NamedTuple):
    """The vectors of the queries and of the documents of rows, and how their model compares vectors.

    Of pairs of an embedding, first texts are queries and second ones documents (rows, width). With pieces, the vectors
    of documents are those of all their texts.

    Attributes:
        is_normalized: whether the model gives its vectors the length 1.
    """

    queries: Array
    documents: Array
    function: SimilarityFunction
    is_normalized: bool


@component(
    libraries=(
        "ai-edge-litert",
        "keras",
        "numpy",
        "onnx",
        "onnxruntime",
        "scipy",
        "sentencex",
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
    sizes: Input[list[EdgeModel]] | None = None,
    names: tuple[str, ...] = (),
    metric: str = "",
    limits: dict[str, dict[str, float]] | None = None,
    release: Release | None = None,
    document_sentences: bool = False,
) -> None:
    """Scores the queries of students on the documents of their teacher, which an index of the teacher holds.

    The float student and the file that would be shipped are measured, for each seed. With sizes, the file of each is
    measured as well, and the queries of all files on the documents of all files.

    Args:
        examples: the rows, whose test split is read.
        teacher: the model that embeds documents; None for `release`.
        students: the float students, one a seed.
        edges: the exported files of each seed.
        further: the rows.
        sizes: the exported files of further students, those of all seeds of one after the other.
        names: the names of these students.
        metric: the metric that decides; empty for the main one of the task.
        limits: queries -> documents -> the least ratio of their score to that of the teacher on its own documents. Both
            are `teacher`, `student`, which is the shipped file, or one of the names.
        release: the version that was pushed and is the teacher; the table then has its row, too.
        document_sentences: whether each row of a search has another one beside it, where documents are searched by
            their sentences, too, see `Pieces`.

    Raises:
        InputError: the task has no such metric.
    """
    description, rows = examples.features(), read_rows(examples, "test")
    scoring = TASK_SCORING[description["task"]]
    metric, seeds = choose_metric(metric, scoring, ()), len(students)
    shipped, files = _find_shipped(students, edges)
    models = {STUDENT: find_candidates([], students, [])[STUDENT], shipped: files}
    for number, name in enumerate(names):
        models[name] = _find_shipped([], (sizes or [])[number * seeds : (number + 1) * seeds])[1]
    # Each of these has documents and queries; the float student has queries alone.
    whole = [TEACHER, *([shipped, *names] if names or document_sentences else [])]
    pieces = Pieces.of(SplitCorpus.of(rows).passages) if document_sentences else None
    done, total = 0, 1 + sum(map(len, models.values()))

    def embed(name: str, task: Any) -> Sides:
        nonlocal done
        report_progress(done, total, f"vectors of {name}")
        done += 1
        return embed_sides(task, rows, pieces, has_documents=name in whole)

    embedder = release.load() if release is not None else None if teacher is None else read_model(teacher)
    sides = {TEACHER: [embed(TEACHER, embedder)] * seeds}
    sides |= {name: [embed(name, file.open()) for file in seeded] for name, seeded in models.items()}

    def score(queries: str, documents: str, *, by_sentences: bool = False) -> MeasuredModel:
        pairs = zip(sides[queries], sides[documents], strict=True)
        answers = [answer_pairs(rows, *pair, pieces, by_sentences=by_sentences) for pair in pairs]
        return MeasuredModel(SeedScores.table([scoring.score(rows, answer, ()).metrics for answer in answers]))

    goal, table, verdicts = score(TEACHER, TEACHER), dict[str, MeasuredModel](), list[tuple[bool, str]]()
    if release is not None:
        table[release.name] = goal
    timed_rows = read_timed_rows(examples) if names else []
    if pieces is not None:
        table[f"{release.name if release else TEACHER}, by sentences"] = score(TEACHER, TEACHER, by_sentences=True)
    pairs = [(name, TEACHER) for name in models] + [(one, other) for one in whole for other in whole[1:]]
    for queries, documents in sorted(pairs, key=lambda pair: [TEACHER, *models].index(pair[0])):
        row, model = describe_pair(queries, documents, release), score(queries, documents)
        if queries == documents != shipped:
            megabytes, milliseconds = measure_size(models[queries][0], timed_rows)
            model = dataclasses.replace(model, megabytes=megabytes, milliseconds=milliseconds)
        # The table has the shipped file on its own documents already.
        if row != shipped:
            table[row] = model
        if pieces is not None:
            table[f"{row}, by sentences"] = score(queries, documents, by_sentences=True)
        verdicts += _judge(row, metric, model, goal, _find_limit(limits or {}, shipped, queries, documents))
    further.write(FurtherRows(table, verdicts))


def describe_pair(queries: str, documents: str, release: Release | None = None) -> str:
    """The name of a row: of the model for its own documents, else of both."""
    if queries == documents:
        return queries
    whose = "the teacher's documents" if documents == TEACHER else f"the documents of {documents}"
    return f"{queries}, on {f'the documents of {release.name}' if release and documents == TEACHER else whose}"


def _find_shipped(students: Sequence[Model], edges: Sequence[EdgeModel]) -> tuple[str, list[ScoredFile]]:
    """The name of the row that would be shipped, and the file of each seed."""
    candidates = find_candidates([], students, edges)
    name = next(name for name in SHIPPED if name in candidates)
    return name, candidates[name]


def _find_limit(limits: Mapping[str, Mapping[str, float]], shipped: str, queries: str, documents: str) -> float:
    sides = [STUDENT if name == shipped else "" if name == STUDENT else name for name in (queries, documents)]
    return limits.get(sides[0], {}).get(sides[1], 0.0)


def _judge(row: str, metric: str, model: MeasuredModel, goal: MeasuredModel, share: float) -> list[tuple[bool, str]]:
    """Whether a row has its share of the teacher's score; nothing for a share of 0."""
    points, limit = (100 * measured.metrics[metric].mean for measured in (model, goal))
    rule = f"must be at least min_share {share:g} of the teacher's {limit:.2f} on its own documents"
    # A hair of tolerance: percentages of counts do not multiply exactly.
    return [(points >= share * limit - 1e-9, f"{row} {metric} {points:.2f} {rule}")] if share else []


def embed_sides(
    task: "Embedding", rows: Sequence[Any], pieces: Pieces | None = None, *, has_documents: bool = True
) -> Sides:
    """The vectors of the queries of rows, and of their corpus, without which there are no rows in it."""
    if isinstance(rows[0], QueryRow):
        vectors = task.predict([row.query for row in rows], prompt="query")
        passages = SplitCorpus.of(rows).passages if pieces is None else pieces.texts
        documents = task.predict(passages, prompt="passage") if has_documents else vectors[:0]
    else:
        texts, seconds = split_texts(rows)
        vectors = task.predict(texts)
        documents = task.predict(seconds or []) if has_documents else vectors[:0]
    return Sides(vectors, documents, task.similarity_function, task.normalize)


def answer_pairs(
    rows: Sequence[Any], queries: Sides, documents: Sides, pieces: Pieces | None = None, *, by_sentences: bool = False
) -> list[Any]:
    """The rankings of rows by the similarity of vectors, or the similarities of pairs.

    Vectors are compared as the model of the documents does it, as a search in its index would. A file with `[export]
    dimension` has the first numbers of the vectors of its space: the vectors of the other side are cut to as many.
    """
    from keras_bert.tasks.embedding import compare_vectors

    width = min(queries.queries.shape[1], documents.documents.shape[1])
    query_vectors = _truncate(queries.queries, width, is_normalized=queries.is_normalized)
    vectors = _truncate(documents.documents, width, is_normalized=documents.is_normalized)
    if isinstance(rows[0], QueryRow):
        vectors = vectors if pieces is None or by_sentences else vectors[pieces.starts]

        def compare(part: slice) -> Array:
            similarities = compare_vectors(query_vectors[part], vectors, documents.function)
            return pieces.pool(similarities) if pieces is not None and by_sentences else similarities

        return rank_rows(SplitCorpus.of(rows), compare)
    pairs = zip(query_vectors, vectors, strict=True)
    return [float(compare_vectors(one[None], other[None], documents.function)[0, 0]) for one, other in pairs]


def _truncate(vectors: Array, width: int, *, is_normalized: bool) -> Array:
    """The first numbers of vectors, with the length 1 again if the whole vectors had it, as `Embedding.truncated`."""
    if vectors.shape[1] == width:
        return vectors
    kept = vectors[:, :width]
    return kept / np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-12) if is_normalized else kept
