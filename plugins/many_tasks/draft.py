"""Drafts a job of several tasks from the tables that `init` got, one for each task."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from components.dsl.errors import InputError, nearest, prefixed_errors
from components.objects.hub import is_hub_address, pin_address
from components.sources.checkpoint import Checkpoint
from keras_bert.core.checks import FieldError
from pipeline.capabilities import split_job
from pipeline.commands.command import refuse_options
from pipeline.commands.init import TASKS, RowsPath
from pipeline.draft.job import DraftedJob, draft_job, name_job, write_toml
from pipeline.draft.source import DraftRequest
from pipeline.job.files import make_settings
from pipeline.proposal import Setting, SettingsTable
from pipeline.workload import guess_seconds
from plugins.many_tasks.task import check_name

# The options of `init` for one table, which a job of several tasks has for each as NAME.KEY=VALUE.
_KEYS = ("validation", "test", "task", "text", "label", "second")
_PATHS = ("rows", "validation", "test")
# An option in a remark, and the space before its value.
_OPTION = re.compile(rf"--({'|'.join(_KEYS)})\b(?:( )(?=\S+(?: reads| needs| without|\))))?")
# A name or NAME.KEY before `=`; `year=2024/*.csv` is a path or a pattern if files exist, `data/year=2024` always is.
_NAMED = re.compile(r"([^/=.]+)(?:\.([^/=.]+))?=(.+)")
# A task with more than so many times the rows of another one lets small ones come more often.
_UNEQUAL = 4
# The tables that tasks share. A draft with others, such as for few rows of a label, is for a job of its task alone.
_SHARED = ("fine_tuning", "student", "distillation", "quantization")
_DROPPED = ("", "checkpoint", "examples", "teacher_labels")
# One range of an activation for the rows of all tasks costs accuracy (docs/accuracy.md).
_RECIPE = Setting("recipe", "dynamic_wi8", "8 bits, ranges by row; other recipes: docs/guides/compress.md")
# Of different proposals of the tasks: all rows are read, and the largest task decides how often.
_CHOOSE = {"epochs": min, "learning_rate": min}


def draft_tasks(options: SimpleNamespace, checkpoint: Checkpoint) -> DraftedJob | None:
    """A job of the tasks that the rows name as NAME=ROWS, with NAME.KEY=VALUE in place of options; None if none do."""
    parts = [(text, None if Path(text).exists() or glob(text) else _NAMED.fullmatch(text)) for text in options.rows]
    if not any(part for _, part in parts):
        return None
    values = dict[str, dict[str, str]]()
    for text, part in parts:
        if part is None:
            raise InputError(f"ROWS must be NAME=ROWS for each of several tasks, got {text!r}; put its name before it")
        name, key, value = part.groups("rows")
        _check_key(name, key)
        if key in values.setdefault(name, {}):
            field = name if key == "rows" else f"{name}.{key}"
            raise InputError(f"ROWS must have different names for its tasks and their keys, got {field}=... twice")
        is_path = key in _PATHS
        values[name][key] = RowsPath().convert(value, None, None) if is_path else value
        if options.refresh and is_path and is_hub_address(value):
            pin_address(value, refresh=True)
    for key in _KEYS:
        refuse_options(options, (key,), f"where ROWS names tasks; add {min(values)}.{key}=VALUE to ROWS")
    drafts = {name: _draft(name, keys, checkpoint) for name, keys in sorted(values.items())}
    job_name = options.name or name_job(str(options.out or "_".join(drafts)))
    remarks, tables = join_drafts(job_name, drafts)
    # The same settings as `run` reads give the same estimate as `run --dry-run`.
    settings = make_settings(tomllib.loads(write_toml([], tables)))
    counts = [len(job.examples.splits()["train"]) for job in split_job(settings).values() if job.examples is not None]
    if max(counts) > _UNEQUAL * min(counts):
        reason = "tasks have unequal numbers of rows: batches of small ones come more often"
        tables.append(SettingsTable("sharing", [Setting("temperature", 2.0, reason)]))
    return DraftedJob(job_name, remarks, tables, guess_seconds(settings))


def _check_key(name: str, key: str) -> None:
    try:
        check_name(name)
    except FieldError as error:
        raise InputError(f"the name of a task in ROWS must {error.rule}, got {name!r}") from None
    if key not in ("rows", *_KEYS):
        raise InputError(f"{name}.{key} in ROWS must be one of the options of a table{nearest(key, _KEYS)}")


def _draft(name: str, keys: Mapping[str, str], checkpoint: Checkpoint) -> DraftedJob:
    """The draft of a task alone, with errors that name its keys in place of options."""
    if "rows" not in keys:
        raise InputError(f"ROWS must have {name}=ROWS, the rows of the task, got only {name}.{min(keys)}=...")
    if (task := keys.get("task")) is not None and task not in TASKS:
        raise InputError(f"{name}.task must be the name of a task, got {task!r}{nearest(task, TASKS)}")
    if "second" in keys and "text" not in keys:
        raise InputError(f"{name}.text must be given beside {name}.second, got only {name}.second={keys['second']}")
    try:
        with prefixed_errors(f"task {name}: "):
            return draft_job(DraftRequest(keys["rows"], *map(keys.get, _KEYS)), checkpoint, name)
    except InputError as error:
        raise InputError(_with_keys(name, str(error))) from None


def _with_keys(name: str, text: str) -> str:
    """A remark about the rows of a task, with `mood.task=regression` in place of `--task regression`."""
    return _OPTION.sub(lambda match: f"{name}.{match[1]}{'=' if match[2] else ''}", text)


def join_drafts(job_name: str, drafts: Mapping[str, DraftedJob]) -> tuple[list[str], list[SettingsTable]]:
    """The remarks and tables of a job of tasks whose single jobs are these: a table for each, and what they share."""
    tables = {name: {table.name: table.settings for table in draft.tables} for name, draft in drafts.items()}
    suits = {name: not set(parts) - {*_SHARED, *_DROPPED} for name, parts in tables.items()}
    remarks = [f"{name}: {_with_keys(name, remark)}" for name, draft in drafts.items() for remark in draft.remarks]
    remarks += [
        f"{name}: a job of this task alone would have other tables, as it has few rows of a label; compare both"
        for name, is_usual in suits.items()
        if not is_usual
    ]
    longest = max(_values(parts[""])["max_length"] for parts in tables.values())
    of_tasks = list[SettingsTable]()
    for name, parts in tables.items():
        settings = [setting for setting in parts[""] if setting.key == "max_length" and setting.value < longest]
        settings += [setting for setting in parts.get("fine_tuning", []) if setting.key == "class_weights"]
        of_tasks += [SettingsTable(f"tasks.{name}", settings)] if settings else []
        of_tasks.append(SettingsTable(f"tasks.{name}.examples", parts["examples"]))
    trained = [tables[name] for name, is_usual in suits.items() if is_usual]
    shared = {title: _join(parts.get(title, []) for parts in trained) for title in _SHARED}
    shared["quantization"] = [_RECIPE, *(one for one in shared["quantization"] if one.key != _RECIPE.key)]
    start = [setting for setting in _join(parts[""] for parts in tables.values()) if setting.key != "name"]
    return remarks, [
        SettingsTable("", [Setting("name", job_name), *start]),
        SettingsTable("checkpoint", next(iter(tables.values()))["checkpoint"]),
        *of_tasks,
        *(SettingsTable(title, settings) for title, settings in shared.items() if settings),
    ]


def _values(settings: Iterable[Setting]) -> dict[str, Any]:
    return {setting.key: setting.value for setting in settings}


def _join(tables: Iterable[Sequence[Setting]]) -> list[Setting]:
    """One setting of each key: the least number of epochs and the lowest rate, else the largest value."""
    joined = dict[str, Setting]()
    for setting in (setting for table in tables for setting in table if setting.key != "class_weights"):
        choose = _CHOOSE.get(setting.key, max)
        joined[setting.key] = choose(joined.get(setting.key, setting), setting, key=lambda setting: setting.value)
    return list(joined.values())
