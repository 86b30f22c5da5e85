"""Models, an EdgeModel and TaskExamples -> Explanation: do the small models decide for their teacher's reasons?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.data import TaskExamples
from components.artifacts.measurements import Explanation, ExplanationReport, HeadKinds, ModelAgreement
from components.artifacts.models import EdgeModel, Model
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.examples.registry import read_rows
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.checks import check
from keras_bert.folders import ANSWERING_FILES

if TYPE_CHECKING:
    from keras_bert.explain import Agreement
    from keras_bert.tasks.base import Task

# Rows of each model whose words are listed.
_LISTED = 5


@component(
    libraries=("ai-edge-litert", "keras", "onnxruntime", "scikit-learn", "scipy", "tensorflow", "tensorflow-text"),
    alone=True,
)
def explain_models(
    teacher: Input[Model],
    student: Input[Model],
    edge: Input[EdgeModel],
    examples: Input[TaskExamples],
    explanation: Output[Explanation],
    rows: int = 100,
    layers: tuple[int, ...] | None = None,
) -> None:
    """Compares the reasons of a student and of its exported file with those of the teacher, on validation rows.

    Words get their shares by occlusion, which explains files, too.

    Args:
        teacher: the fine-tuned model.
        student: the model that is exported; the teacher itself if there is no smaller one.
        edge: the exported files, of which the first that answers is explained.
        examples: the rows.
        explanation: the report.
        rows: the number of validation rows.
        layers: the teacher's layers that the student began with, whose attention its own is compared with; None for
            layers that are evenly spread.
    """
    check("explain_models", "rows", rows >= 1, "be at least 1", rows)
    from keras_bert.explain import compare, head_statistics
    from keras_bert.export.bundle import load_exported

    models = {"teacher": read_model(teacher), "student": read_model(student)}
    taken = read_rows(examples, "validation")[:rows]
    texts, seconds = TASK_SCORING[models["teacher"].name].texts(taken)
    file = next(name for name in ANSWERING_FILES if edge.file(name).is_file())
    compared: dict[str, Task] = {"student": models["student"], file: load_exported(edge.path, file)}
    if teacher.fingerprint == student.fingerprint:
        del models["student"], compared["student"]
    agreements = []
    for number, (name, task) in enumerate(compared.items()):
        report_progress(number, len(compared) + 1, f"explaining {name}")
        agreements.append(
            _describe(name, compare(models["teacher"], task, texts, seconds, layers=layers), texts, seconds)
        )
    report_progress(len(compared), len(compared) + 1, "reading attention")
    heads = []
    for name, task in models.items():
        pairs = None if task.second_text == "compared" else seconds
        statistics = head_statistics(task, texts, pairs, distances=False)
        heads.append(HeadKinds(name, statistics.kind.tolist(), statistics.entropy.round(4).tolist()))
    explanation.write(ExplanationReport(len(taken), agreements, heads))
    explanation.counts = {"rows": len(taken)}


def _describe(name: str, agreement: "Agreement", texts: Sequence[str], seconds: Sequence[str] | None) -> ModelAgreement:
    import numpy as np

    correlations = agreement.rank_correlations[~np.isnan(agreement.rank_correlations)]
    distances = agreement.attention_distances
    different: list[dict[str, Any]] = [
        {
            "text": texts[row],
            "second_text": None if seconds is None else seconds[row],
            "target": agreement.teacher[row].target,
            "words": list(agreement.teacher[row].row.word_texts),
            "teacher": agreement.teacher[row].by_word().round(4).tolist(),
            "model": agreement.student[row].by_word().round(4).tolist(),
        }
        for row in agreement.most_different(_LISTED)
    ]
    return ModelAgreement(
        name,
        float(agreement.same_answers.mean()),
        float(np.median(correlations)) if len(correlations) else None,
        len(correlations),
        agreement.layers,
        None if distances is None else distances.round(4).tolist(),
        different,
    )
