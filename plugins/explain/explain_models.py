"""Models, an EdgeModel and TaskExamples -> Explanation: do the small models decide for their teacher's reasons?"""

from typing import TYPE_CHECKING, Any

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.examples.token_classification import TaggedRows
from components.scoring.registry import TASK_SCORING
from components.sources.tagged_words import SentenceSource
from components.training.model_folder import read_model
from keras_bert.core.folders import ANSWERING_FILES
from plugins.explain.artifacts import Explanation, ExplanationReport
from plugins.explain.findings import (
    ProbeSentences,
    describe_agreement,
    describe_heads,
    describe_probes,
    hold_sentences,
    read_probe_sentences,
)

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@component(
    libraries=(
        *("ai-edge-litert", "keras", "onnxruntime", "scikit-learn", "scipy"),
        *("tensorflow", "tensorflow-text", "tokenizers"),
    ),
    kind="measurement",
)
def explain_models(
    teacher: Input[Model],
    student: Input[Model],
    edge: Input[EdgeModel],
    examples: Input[TaskExamples],
    explanation: Output[Explanation],
    rows: int = 100,
    layers: tuple[int, ...] | None = None,
    probes: SentenceSource | None = None,
) -> None:
    """Compares the reasons of a student and of its exported file with those of the teacher, on validation rows.

    Words get their shares by occlusion, which explains files, too. The heads and the layers of both models are looked
    into: what heads look at, the loss without each, and the tags and trees of words in the states of each layer.

    The student is the teacher itself if there is no smaller one; of the files the first that answers is explained.
    `rows` is the number of validation rows. `layers` are the teacher's that the student began with, whose attention its
    own is compared with; None for layers that are evenly spread. `probes` are the tagged sentences that layers are
    probed with; None for the examples if their words are tagged, else for no probes.
    """
    from keras_bert.export.bundle import load_exported
    from plugins.explain.agreement import compare

    sentences = _probe_sentences(probes, examples)
    models = {"teacher": read_model(teacher), "student": read_model(student)}
    explained = read_rows(examples, "validation")[:rows]
    texts, seconds = TASK_SCORING[models["teacher"].name].texts(explained)
    file = next(name for name in ANSWERING_FILES if edge.file(name).is_file())
    compared: dict[str, Task] = {"student": models["student"], file: load_exported(edge.path, file)}
    if teacher.fingerprint() == student.fingerprint():
        del models["student"], compared["student"]
    parts = len(compared) + 2 * len(models)
    agreements, heads, probed = [], [], []
    for number, (name, task) in enumerate(compared.items()):
        report_progress(number, parts, f"explaining {name}")
        agreement = compare(models["teacher"], task, texts, seconds, layers=layers)
        agreements.append(describe_agreement(name, agreement, texts, seconds))
    batches = _read_batches(examples, rows)
    for number, (name, task) in enumerate(models.items()):
        report_progress(len(compared) + 2 * number, parts, f"measuring heads of {name}")
        heads.append(describe_heads(name, task, texts, seconds, batches))
        if sentences is not None:
            report_progress(len(compared) + 2 * number + 1, parts, f"probing {name}")
            probed.append(describe_probes(name, task, sentences))
    explanation.write(ExplanationReport(len(explained), agreements, heads, probed))
    explanation.counts = {"rows": len(explained)}


def _probe_sentences(probes: SentenceSource | None, examples: TaskExamples) -> ProbeSentences | None:
    """The sentences of a source, or of the examples; None if neither has tags of words."""
    if probes is not None:
        return read_probe_sentences(probes)
    if examples.features()["task"] != TaggedRows.name:
        return None
    return hold_sentences(*(read_rows(examples, split) for split in ("train", "validation")))


def _read_batches(examples: TaskExamples, rows: int) -> list[Any]:
    """At least `rows` random labelled validation rows, or all, in batches of rows of about one length."""
    from keras_bert.core.row_limits import LENGTH_BUCKETS
    from keras_bert.data.task_batches import task_batches
    from keras_bert.training.trainer import validation_rows

    size = validation_rows(examples.features()["max_length"])
    batches = task_batches(examples.path, "validation", size, shuffle=True, bucket_boundaries=LENGTH_BUCKETS)
    return list(batches.first(-(-rows // size)))
