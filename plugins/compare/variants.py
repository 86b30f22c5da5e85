"""The variants of a comparison: settings files, each merged with each task, checked before any run."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from components.dsl.errors import InputError, prefixed_errors
from pipeline.capabilities import is_joint
from pipeline.job.checks import check_data
from pipeline.job.files import Tables, make_settings, merge_tables, read_tables
from pipeline.settings.schema import Settings
from plugins.compare.budget import Budget

# The keys that a task may set; all others belong to the variants.
TASK_KEYS = (
    *("examples", "fine_tuning", "max_length", "stride", "max_query_length", "pooling", "normalize", "evaluation"),
)

# The keys that belong to the examples: a task replaces them as a whole, and they are not merged with a variant's.
_EXAMPLE_KEYS = ("examples", "stride", "max_query_length", "evaluation")

# Validations of a pre-training if its file sets none: the plot of loss over compute needs some points.
_VALIDATIONS = 10


class ComparedVariant(NamedTuple):
    """One variant of a comparison; without `tasks` only pre-training is compared."""

    name: str
    start: Settings
    tasks: dict[str, Settings]


def load_variants(
    files: Sequence[Path], tasks: Sequence[Path], overrides: Sequence[str], budget: Budget | None
) -> list[ComparedVariant]:
    """Reads and checks all settings files and their data."""
    if len(files) == 1 and not tasks:
        raise InputError(f"there must be several settings files to compare, or a --task to try one on, got {files[0]}")
    for kind, paths in (("settings files", files), ("tasks", tasks)):
        names = [path.stem for path in paths]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise InputError(f"{kind} must have different names, got {name!r} twice")
    task_tables = {path.stem: _read_task(path) for path in tasks}
    variants = []
    for path in files:
        with prefixed_errors(f"{path.name}: "):
            variants.append(_load(path, task_tables, overrides, budget))
    for variant, path in zip(variants, files, strict=True):
        with prefixed_errors(f"{path.name}: "):
            _check_comparable(variant, variants[0])
    for variant, path in zip(variants, files, strict=True):
        with prefixed_errors(f"{path.name}: "):
            _check_data(variant, variants[0], task_tables)
    return variants


def _check_data(variant: ComparedVariant, first: ComparedVariant, task_tables: Mapping[str, Tables]) -> None:
    """Checks the data that was not checked for the first variant, which has the same rows."""
    if variant is not first and all(
        getattr(variant.start, name) == getattr(first.start, name) for name in ("corpus", "checkpoint")
    ):
        return
    if not variant.tasks:
        check_data(variant.start)
    for name, settings in list(variant.tasks.items())[: None if variant is first else 1]:
        with prefixed_errors(f"with {name}.toml merged, " if task_tables else ""):
            check_data(settings)


def _read_task(path: Path) -> Tables:
    with prefixed_errors(f"{path.name}: "):
        task = read_tables(path)
        for key in task:
            if key not in TASK_KEYS:
                raise InputError(f"{key} must be left out of a task, which may have {', '.join(TASK_KEYS)}")
        if "examples" not in task:
            raise InputError("examples must be set: there is nothing to fine-tune on")
        return task


def _load(path: Path, tasks: dict[str, Tables], overrides: Sequence[str], budget: Budget | None) -> ComparedVariant:
    tables = read_tables(path)
    if "corpus" in tables:
        tables = merge_tables({"pretraining": {"validations": _VALIDATIONS}}, tables)
    elif budget is not None:
        raise InputError("corpus must be set if --flops or --minutes gives a budget of pre-training")
    if not tasks:
        settings = make_settings(tables, overrides)
        if is_joint(settings):
            raise InputError(
                "there must be [examples] or a [corpus] to compare, got a job of several tasks; compare each task in a "
                "job of its own"
            )
        task_settings = {settings.examples.task: settings} if settings.examples is not None else {}
        return ComparedVariant(path.stem, settings, task_settings)
    bare = {key: value for key, value in tables.items() if key not in _EXAMPLE_KEYS}
    merged = {name: _merge_task(name, bare, task, overrides) for name, task in tasks.items()}
    # Tasks may have rows of other lengths than pre-training.
    name, task = next(iter(tasks.items()))
    settings = _merge_task(name, bare, {key: value for key, value in task.items() if key != "max_length"}, overrides)
    longest = max(task_settings.max_length for task_settings in merged.values())
    if settings.corpus is None:
        settings = settings.model_copy(update={"max_length": longest})
    elif settings.checkpoint is None and longest > settings.max_length:
        raise InputError(f"max_length must be at least {longest}, that of a task, got {settings.max_length}")
    return ComparedVariant(path.stem, settings, merged)


def _merge_task(name: str, tables: Tables, task: Tables, overrides: Sequence[str]) -> Settings:
    with prefixed_errors(f"with {name}.toml merged, "):
        return make_settings(merge_tables(tables, task), overrides)


def _check_comparable(variant: ComparedVariant, first: ComparedVariant) -> None:
    """Raises InputError if a variant has another corpus, other examples or other seeds than the first one."""
    corpus, other = variant.start.corpus, first.start.corpus
    if corpus and other and corpus != other and corpus.fingerprint() != other.fingerprint():
        raise InputError(f"corpus must hold the same text as that of {first.name}.toml, got another")
    pairs = [(variant.tasks.get(name), first.tasks.get(name)) for name in {**variant.tasks, **first.tasks}]
    for settings, baseline in pairs:
        if settings is None or baseline is None or settings.examples != baseline.examples:
            raise InputError(f"examples must be those of {first.name}.toml if there is no --task")
        for key in ("seeds", "fine_tuning.seed"):
            value, expected = attrgetter(key)(settings), attrgetter(key)(baseline)
            if value != expected:
                raise InputError(f"{key} must be {expected} as in {first.name}.toml, to pair seeds, got {value}")
