"""`[[teacher.sizes]]`: further students of a job that learn the same vectors, from a static table to many layers."""

from collections.abc import Sequence

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.distill import distill
from components.dsl.component import Handle
from components.dsl.errors import InputError
from components.export_model import export_model
from components.quantize import quantize
from components.scoring.blessing import STUDENT, TEACHER
from pipeline.nodes import append_name, append_seed, seeded
from pipeline.settings.schema import Settings
from plugins.vectors.settings import Size


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
        size.training(settings)
        size.student.check_job(settings.model_copy(update={"student": size.student}))
    if sizes and settings.pruning is not None:
        raise InputError("pruning must be left out with [[teacher.sizes]], which are not pruned")


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
