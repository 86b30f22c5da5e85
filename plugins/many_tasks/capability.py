"""The capabilities `tasks` and `sharing`: a job of several tasks on one encoder."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from components.dsl.component import Node
from components.dsl.errors import InputError, table_errors
from components.examples.registry import TASK_ROWS
from components.scoring.blessing import Thresholds
from components.sources.checkpoint import Checkpoint
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.teacher_columns import FilesWithTeacherAnswers
from keras_bert.core.checks import FieldError
from keras_bert.options.export import Export
from pipeline.capability import Capability
from pipeline.settings.schema import Settings, select_fields
from plugins.many_tasks.settings import Sharing, TaskTable

if TYPE_CHECKING:
    from pipeline.draft.job import DraftedJob

Tables = dict[str, TaskTable]
# The tables and keys of a job that all tasks share.
_SHARED = [
    "name",
    "seeds",
    "max_length",
    "stride",
    "max_query_length",
    "pooling",
    "normalize",
    "checkpoint",
    "fine_tuning",
    "contrast",
    "student",
    "distillation",
    "pruning",
    "quantization",
    "export",
    "push",
    "beam",
    "machine",
    "search",
    "tasks",
    "sharing",
]
_RUNTIMES = ("tflite", "onnx")


class TasksCapability(Capability[Tables]):
    """Several tasks are trained, compressed and exported as one model."""

    name = "tasks"
    table = dict[str, TaskTable]
    purpose = (
        "the tasks of a job of several on one encoder, in place of `examples`: a table for each, whose name is that of "
        "the task. They are fine-tuned, distilled and quantized together, and exported as one file."
    )
    paths = tuple(f"*.examples.{split}" for split in ("train", "validation", "test"))

    def split_job(self, table: Tables, settings: Settings) -> Mapping[str, Settings]:
        _check_shared(table, settings)
        return {name: _job_of(task, settings) for name, task in sorted(table.items())}

    def draft(self, options: SimpleNamespace, checkpoint: Checkpoint) -> "DraftedJob | None":
        # The drafts of jobs read the list of capabilities.
        from plugins.many_tasks.draft import draft_tasks

        return draft_tasks(options, checkpoint)

    def wire_job(self, table: Tables, jobs: Mapping[str, Settings], settings: Settings, root: Path) -> Sequence[Node]:
        # The wiring of jobs reads the list of capabilities.
        from plugins.many_tasks.wiring import wire_tasks

        return [wire_tasks(table, jobs, settings, root.absolute())]


class SharingCapability(Capability[Sharing]):
    """The settings of the joint trainings of `tasks`."""

    name = "sharing"
    table = Sharing
    purpose = "how the tasks of a job of several are trained together: their turns, and the teachers of the student."

    def check_tables(self, table: Sharing, settings: Settings) -> None:
        raise InputError("sharing must be left out without [tasks], as no step would read it")


def _job_of(task: TaskTable, settings: Settings) -> Settings:
    """The job of one task alone, with the shared tables as far as it reads them."""
    has_passages, has_vectors = isinstance(task.examples, RetrievalSource), TASK_ROWS[task.examples.task].has_vectors
    is_read = {
        "contrast": has_passages,
        "normalize": has_vectors,
        "tasks": False,
        "sharing": False,
        "search": False,
        **dict.fromkeys(("stride", "max_query_length"), isinstance(task.examples, QuestionSource)),
    }
    values = {name: value for name, value in settings if is_read.get(name, True)} | {
        "examples": task.examples,
        "evaluation": select_fields(task.evaluation, Thresholds),
        "max_length": task.max_length or settings.max_length,
        "fine_tuning": dataclasses.replace(settings.fine_tuning, class_weights=task.class_weights),
    }
    given = {name for name in settings.model_fields_set if is_read.get(name, True)} | {"examples"}
    return type(settings).model_construct(given, **values)


def _check_shared(table: Tables, settings: Settings) -> None:
    """Raises InputError where tasks cannot be joined, or the shared tables hold what single tasks alone can have."""
    from keras_bert.tasks.registry import TASKS
    from plugins.many_tasks.task import check_name, check_recipe

    if not table:
        raise InputError("tasks must have a table for each task, as [tasks.mood], got none")
    for name in sorted(settings.model_fields_set - set(_SHARED)):
        where = f"; set it in the tables of tasks, as tasks.{min(table)}.{name}"
        hint = where if name in ("examples", "evaluation") else ", as it is for jobs of one task"
        if getattr(settings, name) != type(settings).model_fields[name].default:
            raise InputError(f"{name} must be left out with [tasks]{hint}")
    for name, task in table.items():
        try:
            check_name(name)
        except FieldError as error:
            raise InputError(f"the name of [tasks.{name}] must {error.rule}") from None
        kind = task.examples.task
        if not TASKS[kind].has_own_head:
            raise InputError(
                f"tasks.{name}.examples.task must not be {kind!r}, whose head calls layers of the encoder: other tasks "
                "cannot have theirs beside it; train it in a job of its own"
            )
    if settings.checkpoint is None:
        raise InputError("checkpoint must be set with [tasks]: the encoder that they share")
    if settings.fine_tuning.class_weights != "none":
        raise InputError(
            f"fine_tuning.class_weights must be left out with [tasks]; set tasks.{min(table)}.class_weights"
        )
    sharing: Sharing | None = getattr(settings, "sharing", None)
    if sharing is not None and sharing.teachers == "single" and settings.student is None:
        raise InputError("sharing.teachers must be 'joint' without [student], which alone learns from single teachers")
    if settings.distillation.teachers != "own":
        raise InputError("distillation.teachers must be 'own' with [tasks], as each seed has students of its own")
    if settings.distillation.is_on:
        raise InputError("distillation must have no imitation losses with [tasks]; they are for jobs of one task")
    others = [name for name in settings.export.runtimes if name not in _RUNTIMES]
    if others:
        raise InputError(f"export.runtimes must be of {list(_RUNTIMES)} with [tasks], got {others[0]!r}")
    for field in ("accelerators", "dimension"):
        if (value := getattr(settings.export, field)) != getattr(Export(), field):
            raise InputError(
                f"export.{field} must be left out with [tasks], as it is for files of one task, got {value!r}"
            )
    if settings.contrast is not None and settings.contrast.across_micro_batches:
        raise InputError(
            "contrast.across_micro_batches must be false with [tasks], whose trainings compare the passages of one "
            "micro-batch; set accumulation to 1, or train the task in a job of its own"
        )
    _check_answers(table, settings)
    kinds = [task.examples.task for task in table.values()]
    if settings.quantization is not None:
        with table_errors("quantization"):
            check_recipe([TASKS[kind] for kind in kinds], settings.quantization.recipe)
    for field, suits in (
        ("contrast", any(isinstance(task.examples, RetrievalSource) for task in table.values())),
        ("normalize", any(TASK_ROWS[kind].has_vectors for kind in kinds)),
        *((field, QuestionSource.task in kinds) for field in ("stride", "max_query_length")),
    ):
        if field in settings.model_fields_set and not suits:
            raise InputError(f"{field} must be left out, as no task of [tasks] reads it")


def _check_answers(table: Tables, settings: Settings) -> None:
    """Raises InputError where no training would read a teacher's answers in the rows of a task."""
    columns = {
        name: task.examples.answer_column
        for name, task in table.items()
        if isinstance(task.examples, FilesWithTeacherAnswers) and task.examples.has_teacher_answers
    }
    others = sorted(table.keys() - columns.keys())
    if columns and (settings.student is None or others):
        where = f"beside [tasks.{others[0]}], which has none" if others else "without [student]"
        raise InputError(
            f"tasks.{min(columns)}.examples must have no answers of a teacher {where}: only a student whose rows all "
            f"have such answers learns from them, got those in column {columns[min(columns)]!r}"
        )
