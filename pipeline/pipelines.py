"""The wiring: one function a pipeline."""

from pathlib import Path

from components.artifacts.pushed import Pushed
from components.build_vocabulary import build_vocabulary
from components.distill import distill
from components.dsl.component import Latest
from components.evaluate import evaluate
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.fine_tune_seeds import fine_tune_seeds
from components.import_checkpoint import import_checkpoint
from components.ingest_corpus import ingest_corpus
from components.ingest_examples import ingest_examples
from components.mask_examples import mask_examples
from components.pretrain import pretrain
from components.push import push
from components.quantize import quantize
from components.sources.checkpoint import Checkpoint
from keras_bert.options.distillation import Distillation
from pipeline.orchestrator.graph import Pipeline
from pipeline.settings.fine_tuning import FineTuningSettings
from pipeline.settings.schema import Settings


def compression(settings: Settings, root: Path) -> Pipeline:
    """From text and labelled rows to a pushed int8 `.tflite` and a float32 `.onnx`."""
    corpus = ingest_corpus(source=settings.corpus, cleaning=settings.cleaning, beam=settings.beam)
    vocabulary = build_vocabulary(
        corpus=corpus.corpus,
        size=settings.vocabulary.size,
        lowercase=settings.vocabulary.lowercase,
        beam=settings.beam,
    )
    rows = ingest_examples(vocabulary=vocabulary.vocabulary, source=settings.examples, max_length=settings.max_length)
    masked = mask_examples(
        corpus=corpus.corpus,
        vocabulary=vocabulary.vocabulary,
        masking=settings.masking,
        rows=settings.pretraining_rows.rows(),
        max_length=settings.max_length,
        beam=settings.beam,
    )
    pretrained = pretrain(
        examples=masked.examples,
        vocabulary=vocabulary.vocabulary,
        encoder=settings.teacher,
        training=settings.training,
        short_steps=settings.pretraining_rows.short_steps,
    )
    teacher = fine_tune(
        pretrained=pretrained.model,
        examples=rows.examples,
        pooling=settings.pooling,
        training=settings.fine_tuning,
    )
    distillation = Distillation(
        temperature=settings.distillation.temperature, hard_weight=settings.distillation.hard_weight
    )
    student = distill(
        teacher=teacher.model,
        examples=rows.examples,
        encoder=settings.student,
        distillation=distillation,
        training=settings.distillation.training,
    )
    quantized = quantize(
        student=student.student, examples=rows.examples, distillation=distillation, training=settings.quantization
    )
    exported = export_model(student=quantized.quantized, examples=rows.examples)
    measured = evaluate(
        teacher=teacher.model,
        student=student.student,
        edge=exported.edge,
        examples=rows.examples,
        previous=Latest(Pushed, besides=exported.edge),
        thresholds=settings.evaluation,
    )
    pushed = push(
        edge=exported.edge,
        evaluation=measured.evaluation,
        blessing=measured.blessing,
        folder=settings.push.folder or str(root / "pushed" / settings.name),
        name=settings.name,
    )
    return Pipeline(settings.name, [pushed])


def fine_tuning(settings: FineTuningSettings) -> Pipeline:
    """From a checkpoint and labelled rows of any task to a model, and to its scores over several seeds."""
    imported = import_checkpoint(source=Checkpoint(settings.checkpoint))
    rows = ingest_examples(
        vocabulary=imported.vocabulary,
        source=settings.examples,
        max_length=settings.max_length,
        stride=settings.stride,
        max_query_length=settings.max_query_length,
    )
    tuned = fine_tune_seeds(
        pretrained=imported.model,
        examples=rows.examples,
        pooling=settings.pooling,
        class_weights=settings.class_weights,
        training=settings.training,
        selection=settings.selection,
        seeds=settings.seeds,
        metric=settings.metric,
    )
    return Pipeline(settings.name, [tuned])
