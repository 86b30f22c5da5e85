"""`[[teacher.sizes]]`: further students of a job that learn the same vectors, from a static table to many layers."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.distill import distill
from components.dsl.component import Handle
from components.dsl.errors import InputError, prefixed_errors
from components.export_model import export_model
from components.quantize import quantize
from components.scoring.blessing import STUDENT, TEACHER
from keras_bert.options.compression import Distillation
from keras_bert.options.tables import DistillationSettings
from pipeline.nodes import append_name, append_seed, seeded
from pipeline.settings import graphs
from pipeline.settings.runtimes import check_models_of_runtimes
from pipeline.settings.schema import Settings
from plugins.vectors.settings import Size


def check_training(name: str, training: Any) -> None:
    """Raises InputError if the settings of a training have a loss that vectors of texts do not have.

    `name` is that of the table; a table that the job does not have is None.
    """
    for field in dataclasses.fields(Distillation):
        value = getattr(training, field.name, field.default)
        if value != field.default:
            rule = "be left out with [teacher], as texts have no labels and vectors no temperature"
            raise InputError(f"{name}.{field.name} must {rule}, got {value!r}")
    if not isinstance(training, DistillationSettings):
        return
    if training.is_on:
        raise InputError(
            f"{name} must have no imitation losses with [teacher], as they compare with the checkpoint and "
            "not with the teacher; leave them out"
        )
    if training.teachers != "own":
        raise InputError(f"{name}.teachers must be 'own' with [teacher], got 'seeds'")


def check_sizes(sizes: Sequence[Size], settings: Settings) -> None:
    """Raises InputError for names that are taken, limits for unknown documents, and students that suit no job."""
    names = [TEACHER, STUDENT, *(size.name for size in sizes)]
    for size in sizes:
        if names.count(size.name) > 1:
            raise InputError(
                f"teacher.sizes must have different names, none of them teacher or student, got {size.name!r}"
            )
        for documents in size.min_shares:
            if documents not in names:
                raise InputError(f"teacher.sizes.min_shares must name documents of {names}, got {documents!r}")
        check_training(f"teacher.sizes, {size.name}: distillation", size.training(settings))
        size.student.check_job(settings.model_copy(update={"student": size.student}))
    if sizes and settings.pruning is not None:
        raise InputError("pruning must be left out with [[teacher.sizes]], which are not pruned")


def check_shapes_of_sizes(sizes: Sequence[Size], settings: Settings) -> None:
    """Raises InputError if the checkpoint has no such layers or widths, or a runtime does not take the files."""
    for size in sizes:
        job = settings.model_copy(update={"student": size.student, "distillation": size.training(settings)})
        with prefixed_errors(f"teacher.sizes, {size.name}: "):
            graphs.check_shapes(job)
            graphs.check_sizes(job)
            graphs.check_float_layers(job)
            check_models_of_runtimes(job)


def export_sizes(
    sizes: Sequence[Size], settings: Settings, rows: Handle[TaskExamples], students: Sequence[Handle[Model]]
) -> list[Handle[EdgeModel]]:
    """The exported files of each size, those of all seeds one after the other.

    `students` are those of the job, one a seed, whose start and texts the sizes share.
    """
    edges = []
    for size in sizes:
        for seed, student in enumerate(students):
            start, texts = (student.node.inputs[name] for name in ("teacher", "examples"))
            node = distill(
                teacher=start, examples=texts, shape=size.student, distillation=seeded(size.training(settings), seed)
            )
            model = append_seed(settings, seed, append_name(node, size.name)).output(Model)
            if settings.quantization is not None:
                node = quantize(student=model, examples=texts, quantization=seeded(settings.quantization, seed))
                model = append_seed(settings, seed, append_name(node, size.name)).output(Model)
            node = export_model(model=model, examples=rows, export=settings.export)
            edges.append(append_seed(settings, seed, append_name(node, size.name)).output(EdgeModel))
    return edges
