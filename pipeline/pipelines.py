"""The wiring: settings -> the steps that they ask for."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.pushed import Pushed
from components.build_vocabulary import build_vocabulary
from components.distill import distill
from components.dsl.component import Handle, Latest, Node
from components.evaluate import evaluate
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.import_checkpoint import import_checkpoint
from components.ingest_corpus import ingest_corpus
from components.ingest_examples import ingest_examples
from components.mask_examples import mask_examples
from components.measure_step import measure_step
from components.pretrain import pretrain
from components.push import push
from components.quantize import quantize
from keras_bert.config import EncoderShape
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.options.selection import Selection
from keras_bert.options.training import Training
from pipeline.orchestrator.graph import Pipeline
from pipeline.settings.schema import DistillationSettings, PretrainingSettings, Settings, part


class Start(NamedTuple):
    """What fine-tuning begins with: a model, and the vocabulary that rows are tokenized with."""

    model: Handle
    vocabulary: Handle


class Text(NamedTuple):
    """What pre-training reads: rows, their vocabulary, and the model that it goes on from, if there is one."""

    rows: Handle
    vocabulary: Handle
    start: Handle | None


class Trained(NamedTuple):
    """What one seed makes: the teacher, the student if there is one, and the exported files."""

    teacher: Handle
    student: Handle | None
    edge: Handle


def whole(settings: Settings, root: Path) -> Pipeline:
    """From a start to pushed files, or to a pre-trained model where there are no examples.

    Args:
        settings: checked.
        root: `pushed` in it is where models go, unless the settings say where.
    """
    start = _start(settings)
    if settings.examples is None:
        return Pipeline(settings.name, [start.model.node])
    rows = _rows(settings, start.vocabulary).examples
    seeds = [_train(settings, start, rows, seed) for seed in range(settings.seeds)]
    edges = [trained.edge for trained in seeds]
    measured = evaluate(
        examples=rows,
        teachers=[trained.teacher for trained in seeds],
        students=[trained.student for trained in seeds if trained.student is not None],
        edges=edges,
        previous=Latest(Pushed, besides=edges[0]),
        thresholds=settings.evaluation,
    )
    pushed = push(
        edges=edges,
        evaluation=measured.evaluation,
        blessing=measured.blessing,
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
        return Pipeline(settings.name, [start.model.node, *_rows_of_tasks(start.vocabulary, tasks).values()])
    text = _text(settings)
    training = _training(settings.pretraining, 0)
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
    return Pipeline(settings.name, [node, *_rows_of_tasks(text.vocabulary, tasks).values()])


def comparing(settings: Settings, tasks: Mapping[str, Settings]) -> Pipeline:
    """From a start to models that are fine-tuned on each of some tasks, and measured: without students or files.

    Args:
        settings: of the start.
        tasks: name -> settings, of which all that is about the start is left out. What a step is called ends in it.
    """
    start = _start(settings)
    outputs = [start.model.node]
    for name, node in _rows_of_tasks(start.vocabulary, tasks).items():
        own, rows = tasks[name], node.examples
        tuned = (_named(_fine_tune(own, start, rows, seed), name) for seed in range(own.seeds))
        teachers = [_of_seed(own, seed, node).model for seed, node in enumerate(tuned)]
        measured = evaluate(examples=rows, teachers=teachers, students=[], edges=[], thresholds=own.evaluation)
        outputs.append(_named(measured, name))
    return Pipeline(settings.name, outputs)


def _rows_of_tasks(vocabulary: Handle, tasks: Mapping[str, Settings]) -> dict[str, Node]:
    return {name: _named(_rows(own, vocabulary), name) for name, own in tasks.items()}


def _named(node: Node, task: str) -> Node:
    node.name = f"{node.name}-{task}"
    return node


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
        training=_training(settings.pretraining, 0),
        short_steps=settings.pretraining_rows.short_steps,
        validations=settings.pretraining.validations,
        **_objective(settings),
    )
    return Start(trained.model, text.vocabulary)


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
    return Text(masked.examples, vocabulary, imported and imported.model)


def _objective(settings: Settings) -> dict[str, Any]:
    """What pre-training minimizes, besides what the rows say."""
    own = settings.pretraining
    generator = settings.generator if own.objective == "replaced_tokens" else None
    return {"generator": generator, "span_boundary": own.span_boundary, "mask_decoder": own.mask_decoder}


def _shape(settings: Settings) -> EncoderShape | None:
    """Of an encoder that begins with random weights."""
    return None if settings.checkpoint is not None else part(settings.encoder, EncoderShape)


def _rows(settings: Settings, vocabulary: Handle) -> Node:
    node: Node = ingest_examples(
        vocabulary=vocabulary,
        source=settings.examples,
        max_length=settings.max_length,
        stride=settings.stride,
        max_query_length=settings.max_query_length,
    )
    return node


def _train(settings: Settings, start: Start, rows: Handle, seed: int) -> Trained:
    """All steps of one seed."""
    teacher = _of_seed(settings, seed, _fine_tune(settings, start, rows, seed)).model
    last, student = teacher, None
    if settings.student is not None:
        student = last = _of_seed(
            settings,
            seed,
            distill(
                teacher=teacher,
                examples=rows,
                shape=settings.student,
                distillation=part(settings.distillation, Distillation),
                imitation=part(settings.distillation, Imitation),
                training=_training(settings.distillation, seed),
            ),
        ).student
    if settings.quantization is not None:
        quantized = quantize(
            student=last,
            examples=rows,
            distillation=part(settings.quantization, Distillation),
            training=_training(settings.quantization, seed),
        )
        last = _of_seed(settings, seed, quantized).quantized
    exported = _of_seed(settings, seed, export_model(model=last, examples=rows, export=settings.export))
    return Trained(teacher, student, exported.edge)


def _fine_tune(settings: Settings, start: Start, rows: Handle, seed: int) -> Node:
    own = settings.fine_tuning
    node: Node = fine_tune(
        pretrained=start.model,
        examples=rows,
        pooling=settings.pooling,
        class_weights=own.class_weights,
        adaptation=settings.adaptation,
        training=_training(own, seed),
        selection=part(own, Selection),
    )
    return node


def _training(settings: Training | DistillationSettings | PretrainingSettings, seed: int) -> Training:
    """How a step trains with the seed of this number, counted from 0."""
    fields = vars(part(settings, Training))
    return Training(**{**fields, "seed": settings.seed + seed})


def _of_seed(settings: Settings, seed: int, node: Node) -> Node:
    """The node, named after its seed where there are several."""
    if settings.seeds > 1:
        node.name = f"{node.name}-{seed}"
    return node
