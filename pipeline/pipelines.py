"""The wiring: settings -> the steps that they ask for."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.pushed import Pushed
from components.build_vocabulary import build_vocabulary
from components.diagnose import diagnose
from components.dsl.component import Handle, Latest, Node
from components.evaluate import evaluate
from components.fit_vocabulary import fit_vocabulary
from components.import_checkpoint import import_checkpoint
from components.ingest_corpus import ingest_corpus
from components.ingest_examples import ingest_examples
from components.mask_examples import mask_examples
from components.measure_latency import measure_latency
from components.measure_step import measure_step
from components.pretrain import pretrain
from components.push import push
from keras_bert.config import EncoderShape
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.options.quantization import Quantization
from keras_bert.options.training import Training
from pipeline.chains import Chain, Part, Start, asked_parts, fine_tuned, named_after, of_seed, seeded, with_student
from pipeline.orchestrator.graph import Pipeline
from pipeline.settings.schema import Settings, part


class Text(NamedTuple):
    """What pre-training reads: rows, their vocabulary, the model it goes on from, if any, and the corpus behind."""

    rows: Handle
    vocabulary: Handle
    start: Handle | None
    corpus: Handle


def whole(settings: Settings, root: Path) -> Pipeline:
    """From a start to pushed files, or to a pre-trained model where there are no examples.

    Args:
        settings: checked.
        root: `pushed` in it is where models go, unless the settings say where.
    """
    if settings.examples is None:
        return Pipeline(settings.name, [_start(settings).model.node])
    start, rows = begun(settings)
    chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
    return pushing(settings, root, rows, [chain.model() for chain in chains], chains)


def pushing(
    settings: Settings, root: Path, rows: Handle, teachers: Sequence[Handle], chains: Sequence[Chain]
) -> Pipeline:
    """What some chains make of their teachers, measured on test rows and pushed.

    Args:
        settings: checked.
        root: see `whole`.
        rows: what is measured on.
        teachers: to measure beside the rest, one a seed.
        chains: one a seed; the parts are those that the settings ask for.
    """
    parts = asked_parts(settings)
    edges = [chain.edge(parts) for chain in chains]
    measured = evaluate(
        examples=rows,
        teachers=[*teachers],
        students=[chain.model(("student",)) for chain in chains if "student" in parts],
        edges=edges,
        previous=Latest(Pushed, besides=edges[0]),
        thresholds=settings.evaluation,
    )
    pushed = push(
        edges=edges,
        evaluation=measured.evaluation,
        blessing=measured.blessing,
        examples=rows,
        corpus=chains[0].corpus,
        folder=settings.push.folder or str(root / "pushed" / settings.name),
        name=settings.name,
    )
    return Pipeline(settings.name, [pushed])


def measuring(settings: Settings, tasks: Mapping[str, Settings], *, timed: bool) -> Pipeline:
    """All that is cheap of `comparing`: rows, and what a step of pre-training costs, where there is one.

    Args:
        settings: of the start.
        tasks: see `comparing`.
        timed: whether to time steps, or only to count their operations.
    """
    if settings.corpus is None:
        start = _start(settings)
        return Pipeline(settings.name, [start.model.node, *_rows_of_tasks(start, tasks)])
    text = _text(settings)
    training = seeded(settings.pretraining, 0)
    parts = Training(batch_size=training.batch_size, accumulation=training.accumulation)
    node = measure_step(
        examples=text.rows,
        vocabulary=text.vocabulary,
        start=text.start,
        encoder=_shape(settings),
        training=dataclasses.replace(training, steps=None) if timed else parts,
        timed=timed,
        **_objective(settings),
    )
    return Pipeline(settings.name, [node, *_rows_of_tasks(text, tasks)])


def comparing(settings: Settings, tasks: Mapping[str, Settings]) -> Pipeline:
    """From a start to models that are fine-tuned on each of some tasks, and measured: without students or files.

    Args:
        settings: of the start.
        tasks: name -> settings, of which all that is about the start is left out. What a step is called ends in it.
    """
    start = _start(settings)
    outputs = [start.model.node]
    for name, own in tasks.items():
        begun, rows = _start_and_rows(own, start, name)
        tuned = (named_after(fine_tuned(own, begun, rows, seed), name) for seed in range(own.seeds))
        teachers = [of_seed(own, seed, node).model for seed, node in enumerate(tuned)]
        measured = evaluate(
            examples=rows, teachers=teachers, students=[], edges=[], thresholds=own.evaluation, baselines=False
        )
        outputs.append(named_after(measured, name))
    return Pipeline(settings.name, outputs)


def climbing(settings: Settings, rungs: Mapping[str, Sequence[Part]], lengths: Sequence[int]) -> Pipeline:
    """From a start to the exported files of each rung, measured: all that several rungs share is made once.

    Args:
        settings: of the job; all parts of all rungs are in them.
        rungs: name -> the parts that make it of the teacher.
        lengths: tokens of the texts that answers are timed with.
    """
    start, rows = begun(settings)
    chains = [Chain(settings, start, rows, seed, told=True) for seed in range(settings.seeds)]
    outputs = []
    for name, parts in rungs.items():
        edges = [chain.edge(parts) for chain in chains]
        measured = evaluate(
            examples=rows,
            teachers=[chain.model() for chain in chains],
            students=[],
            edges=edges,
            thresholds=settings.evaluation,
            baselines=False,
        )
        outputs.append(named_after(measured, name))
        outputs.append(named_after(measure_latency(edge=edges[0], lengths=tuple(lengths)), name))
    return Pipeline(settings.name, outputs)


def examining(settings: Settings, allowed_loss: float | None) -> Pipeline:
    """From a start to what rounding does to the float model of the first seed.

    Args:
        settings: of a job with a quantization.
        allowed_loss: see `diagnose`.
    """
    start, rows = begun(settings)
    parts = [name for name in asked_parts(settings) if name != "quantization"]
    model = Chain(settings.model_copy(update={"seeds": 1}), start, rows, 0).model(parts)
    quantization = part(settings.quantization, Quantization)
    node = diagnose(model=model, examples=rows, quantization=quantization, allowed_loss=allowed_loss)
    return Pipeline(settings.name, [node])


def begun(settings: Settings) -> tuple[Start, Handle]:
    """What fine-tuning begins with, and the rows."""
    return _start_and_rows(settings, _start(settings))


def rows_in_pieces(settings: Settings, vocabulary: Handle) -> Node:
    """The step that makes a task's rows, in the pieces of a vocabulary."""
    node: Node = ingest_examples(
        vocabulary=vocabulary,
        source=settings.examples,
        max_length=settings.max_length,
        stride=settings.stride,
        max_query_length=settings.max_query_length,
    )
    return node


def _rows_of_tasks(start: Start | Text, tasks: Mapping[str, Settings]) -> list[Node]:
    """In the pieces of the start, all of them."""
    return [named_after(rows_in_pieces(own, start.vocabulary), _whole(own), name) for name, own in tasks.items()]


def _whole(settings: Settings) -> str:
    """What the rows in all pieces are called after, where others in fewer follow."""
    return "" if settings.fitted_vocabulary is None else "whole"


def _start(settings: Settings) -> Start:
    """The checkpoint, the corpus, or the one trained on with the other."""
    if settings.corpus is None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
        return Start(imported.model, imported.vocabulary)
    text = _text(settings)
    trained = pretrain(
        examples=text.rows,
        vocabulary=text.vocabulary,
        start=text.start,
        encoder=_shape(settings),
        training=seeded(settings.pretraining, 0),
        short_steps=settings.pretraining_rows.short_steps,
        validations=settings.pretraining.validations,
        **_objective(settings),
    )
    return Start(trained.model, text.vocabulary, text.corpus)


def _text(settings: Settings) -> Text:
    """The corpus as rows of pieces, those of the checkpoint or learnt ones."""
    imported = None
    if settings.checkpoint is not None:
        imported = import_checkpoint(source=settings.checkpoint, max_length=settings.max_length)
    corpus = ingest_corpus(source=settings.corpus, cleaning=settings.cleaning, beam=settings.beam).corpus
    if imported is None:
        learnt = settings.vocabulary
        vocabulary = build_vocabulary(
            corpus=corpus, kind=learnt.kind, size=learnt.size, lowercase=learnt.lowercase, beam=settings.beam
        ).vocabulary
    else:
        vocabulary = imported.vocabulary
    masked = mask_examples(
        corpus=corpus,
        vocabulary=vocabulary,
        masking=settings.masking,
        rows=part(settings.pretraining_rows, PretrainingRows),
        max_length=settings.max_length,
        beam=settings.beam,
    )
    return Text(masked.examples, vocabulary, imported and imported.model, corpus)


def _objective(settings: Settings) -> dict[str, Any]:
    """What pre-training minimizes, besides what the rows say."""
    own = settings.pretraining
    generator = settings.generator if own.objective == "replaced_tokens" else None
    return {"generator": generator, "span_boundary": own.span_boundary, "mask_decoder": own.mask_decoder}


def _shape(settings: Settings) -> EncoderShape | None:
    """Of an encoder that begins with random weights."""
    return None if settings.checkpoint is not None else part(settings.encoder, EncoderShape)


def _start_and_rows(settings: Settings, start: Start, task: str = "") -> tuple[Start, Handle]:
    """The start, with fewer pieces and a student where the settings say so, and the rows in its pieces."""
    rows = named_after(rows_in_pieces(settings, start.vocabulary), _whole(settings), task).examples
    own = settings.fitted_vocabulary
    if own is None:
        return with_student(settings, start, task), rows
    node = fit_vocabulary(pretrained=start.model, examples=rows, size=own.size, min_count=own.min_count)
    fitted = named_after(node, task)
    fewer = Start(fitted.model, fitted.vocabulary, start.corpus)
    return with_student(settings, fewer, task), named_after(rows_in_pieces(settings, fewer.vocabulary), task).examples
