"""What is compared: settings files, with tasks laid over each of them; checked before anything starts."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from pipeline.comparison.budget import Budget
from pipeline.settings.files import Tables, lay_over, make_settings, read_tables
from pipeline.settings.rules import check_data
from pipeline.settings.schema import Settings

# What a task may say; all else is the business of the variants.
TASK_KEYS = ("examples", "fine_tuning", "max_length", "stride", "max_query_length", "pooling", "evaluation")

# Of those, what goes with the examples: a variant's own is not laid under a task.
_OF_EXAMPLES = ("examples", "stride", "max_query_length", "evaluation")

# Validations where a file does not say how many: a line of loss over compute wants some points.
POINTS = 10


class Contender(NamedTuple):
    """One variant.

    Attributes:
        name: of its file, without `.toml`.
        start: the settings of its start: the checkpoint, or the pre-training.
        tasks: the settings of its fine-tuning, a task; none where only pre-training is compared.
    """

    name: str
    start: Settings
    tasks: dict[str, Settings]


def load_contenders(
    files: Sequence[Path], tasks: Sequence[Path], overrides: Sequence[str], budget: Budget | None
) -> list[Contender]:
    """Reads all files and looks at their data.

    Args:
        files: settings of the variants; the first one is the baseline.
        tasks: what is laid over each of them, one a task; where there are none, the variants bring their examples.
        overrides: the newest word on single keys of all of them.
        budget: what each may spend on pre-training, None for what its settings say.

    Raises:
        InputError: a file cannot be used, or they cannot be compared.
    """
    if len(files) == 1 and not tasks:
        raise InputError(f"there must be several settings files to compare, or a --task to try one on, got {files[0]}")
    for kind, paths in (("settings files", files), ("tasks", tasks)):
        _check_names(kind, paths)
    laid = {path.stem: _read_task(path) for path in tasks}
    found = []
    for path in files:
        with errors_named(path.name):
            found.append(_load(path, laid, overrides, budget))
    for contender, path in zip(found, files, strict=True):
        with errors_named(path.name):
            _check_alike(contender, found[0])
    for contender, path in zip(found, files, strict=True):
        with errors_named(path.name):
            _check_data(contender, found[0], laid)
    return found


def _check_data(contender: Contender, first: Contender, laid: Mapping[str, Tables]) -> None:
    """Looks at all data that was not looked at for the first variant, which has the same rows."""
    if contender is not first and all(
        getattr(contender.start, name) == getattr(first.start, name) for name in ("corpus", "checkpoint")
    ):
        return
    if not contender.tasks:
        check_data(contender.start)
    for name, settings in list(contender.tasks.items())[: None if contender is first else 1]:
        with _laid_over(name) if laid else contextlib.nullcontext():
            check_data(settings)


@contextlib.contextmanager
def errors_named(name: str) -> Iterator[None]:
    """An error says in which file it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _check_names(kind: str, paths: Sequence[Path]) -> None:
    names = [path.stem for path in paths]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{kind} must have names of their own, got {name!r} twice")


def _read_task(path: Path) -> Tables:
    with errors_named(path.name):
        task = read_tables(path)
        for key in task:
            if key not in TASK_KEYS:
                rule = f"be left out of a task, which may have {', '.join(TASK_KEYS)}"
                raise InputError(f"{key} must {rule}")
        if "examples" not in task:
            raise InputError("examples must be set: there is nothing to fine-tune on")
        return task


def _load(path: Path, tasks: dict[str, Tables], overrides: Sequence[str], budget: Budget | None) -> Contender:
    own = read_tables(path)
    if "corpus" in own:
        own = lay_over({"pretraining": {"validations": POINTS}}, own)
    elif budget is not None:
        raise InputError("corpus must be set where there is a budget of pre-training, --flops or --minutes")
    if not tasks:
        settings = make_settings(own, overrides)
        named = {settings.examples.task: settings} if settings.examples is not None else {}
        return Contender(path.stem, settings, named)
    bare = {key: value for key, value in own.items() if key not in _OF_EXAMPLES}
    made = {name: _lay_task(name, bare, task, overrides) for name, task in tasks.items()}
    return Contender(path.stem, _start(bare, tasks, made, overrides), made)


def _lay_task(name: str, own: Tables, task: Tables, overrides: Sequence[str]) -> Settings:
    with _laid_over(name):
        return make_settings(lay_over(own, task), overrides)


@contextlib.contextmanager
def _laid_over(task: str) -> Iterator[None]:
    """An error says which task it came with."""
    try:
        yield
    except InputError as error:
        raise InputError(f"with {task}.toml laid over it, {error}") from None


def _start(own: Tables, tasks: dict[str, Tables], made: dict[str, Settings], overrides: Sequence[str]) -> Settings:
    """The settings of the start: tasks may have rows of other lengths than pre-training."""
    name, task = next(iter(tasks.items()))
    settings = _lay_task(name, own, {key: value for key, value in task.items() if key != "max_length"}, overrides)
    longest = max(each.max_length for each in made.values())
    if settings.corpus is None:
        return settings.model_copy(update={"max_length": longest})
    if settings.checkpoint is None and longest > settings.max_length:
        raise InputError(f"max_length must be at least {longest}, that of a task, got {settings.max_length}")
    return settings


def _check_alike(contender: Contender, first: Contender) -> None:
    """What must not differ, for then there is nothing to compare."""
    corpora = contender.start.corpus, first.start.corpus
    if None not in corpora and corpora[0] != corpora[1] and _digest(corpora[0]) != _digest(corpora[1]):
        raise InputError(f"corpus must hold the same text as that of {first.name}.toml, got another")
    pairs = [(contender.tasks.get(name), first.tasks.get(name)) for name in {**contender.tasks, **first.tasks}]
    for mine, other in pairs:
        if mine is None or other is None or mine.examples != other.examples:
            raise InputError(f"examples must be those of {first.name}.toml where there is no --task")
        for key in ("seeds", "fine_tuning.seed"):
            values = [_look_up(settings, key) for settings in (mine, other)]
            if values[0] != values[1]:
                raise InputError(f"{key} must be {values[1]} as in {first.name}.toml, to pair seeds, got {values[0]}")


def _digest(source: Any) -> str:
    return str(source.fingerprint())


def _look_up(settings: Settings, key: str) -> Any:
    found: Any = settings
    for name in key.split("."):
        found = getattr(found, name)
    return found
