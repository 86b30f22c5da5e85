"""The tables of a search: the best few beside the job's own settings, or the models that were trained within limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from components.scoring.model_card import format_score
from pipeline.settings.toml_text import format_value
from pipeline.views.tables import Table
from pipeline.views.terminal import format_seconds
from plugins.search.results import AnyResult, SettingsResult, StageResult, StudentResult
from plugins.search.space import SearchStage

# The name of the job's own settings among the finalists.
BASELINE = "job"


def describe_values(values: Mapping[str, Any]) -> str:
    """Values as `key = value`, one behind the other."""
    return ", ".join(f"{name} = {format_value(value)}" for name, value in values.items())


def describe_finalist(name: str) -> str:
    """A finalist in words: `trial 7`, or the job's own settings."""
    return "the job's own settings" if name == BASELINE else f"trial {name}"


def describe_count(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def show_search(result: AnyResult, console: Console) -> None:
    """Prints all tables except the table of all trials, and the notes that explain them."""
    if isinstance(result, StudentResult):
        student_table(result).show(console)
        return
    for name, stage in result.stages.items():
        finalists_table(result, name, stage).show(console)
        settings_table(name, stage).show(console)
    for note in build_last_notes(result):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def render_search(result: AnyResult) -> str:
    """Renders the tables as Markdown."""
    if isinstance(result, StudentResult):
        return student_table(result).as_markdown()
    tables = [
        table.as_markdown()
        for name, stage in result.stages.items()
        for table in (finalists_table(result, name, stage), settings_table(name, stage), trials_table(name, stage))
    ]
    return "\n".join([*tables, *build_last_notes(result)]) + "\n"


def finalists_table(result: SettingsResult, name: SearchStage, stage: StageResult) -> Table:
    """A row for each finalist, the winner first."""
    metric = result.metric.replace("_", " ")
    headings = [
        "settings",
        f"validation {metric}, {describe_count(result.seeds, 'seed')}",
        "against the job's",
        "values",
    ]
    finalists, winner = stage.finalists, stage.winner.name
    job_mean = finalists[BASELINE].score.mean
    order = sorted(finalists, key=lambda name: (name != winner, -finalists[name].score.mean))
    rows = []
    for finalist in order:
        values, score = finalists[finalist]
        difference = "" if finalist == BASELINE else f"{100 * (score.mean - job_mean):+.2f}"
        shown = format_score(score)
        label = describe_finalist(finalist) + (" •" if finalist == winner else "")
        rows.append([label, shown, difference, "\n".join(f"{key} = {format_value(v)}" for key, v in values.items())])
    states = [trial.state for trial in stage.trials]
    notes = [
        f"scores: x 100, on {result.rows} validation rows; the mean over seeds decides (•); the first seed is the "
        "one that was searched with, so that its score is too high"
    ]
    if stage.later:
        notes.append(f"trials were scored before {' and '.join(stage.later)}, the best few after")
    notes.append(
        f"{describe_count(len(states), 'trial')} besides the job's own settings: {states.count('done')} whole, "
        f"{states.count('pruned')} pruned, {states.count('rejected')} rejected"
    )
    return Table(headings, rows, notes, f"{name}: the best settings")


def settings_table(name: str, stage: StageResult) -> Table:
    """A row for each value of a setting, or part of its range."""
    shares = any(setting.importance is not None for setting in stage.settings.values())
    headings = ["setting", "values", "trials", "pruned", "mean score", "best score"]
    headings += ["share of variance"] if shares else []
    rows = []
    for key, setting in stage.settings.items():
        for number, level in enumerate(setting.levels):
            ends = dict.fromkeys(map(format_value, (level.low, level.high)))
            row = [key if number == 0 else "", " to ".join(ends), str(level.trials), str(level.pruned)]
            row += ["" if score is None else f"{100 * score:.2f}" for score in (level.mean, level.best)]
            if setting.importance is not None:
                row.append(f"{100 * setting.importance:.0f} %" if number == 0 else "")
            rows.append(row)
    return Table(headings, rows, title=f"{name}: settings")


def trials_table(name: str, stage: StageResult) -> Table:
    """A row for each trial."""
    headings = ["trial", "validation score", "time", *stage.settings]
    rows = [["job", f"{100 * stage.job_score:.2f}", "", *_values(stage, None)]]
    for trial in stage.trials:
        score = trial.state if trial.score is None else f"{100 * trial.score:.2f}"
        rows.append([str(trial.number), score, format_seconds(trial.seconds), *_values(stage, trial.values)])
    return Table(headings, rows, title=f"{name}: trials")


def build_last_notes(result: SettingsResult) -> Iterator[str]:
    """Yields the notes about the whole search, one per line; the last gives the duration."""
    settings = [one for stage in result.stages.values() for one in stage.settings.values()]
    yield (
        "scores of settings: means of whole trials, which pruning and a sampler that prefers good values raise; "
        "a mean of one or two trials says little"
    )
    if any(one.importance is not None for one in settings):
        yield "share of variance: fANOVA (Hutter et al. 2014) on the whole trials, by all values of a setting"
    else:
        yield "no shares of variance: they need 20 whole trials of a model"
    yield f"the search took {format_seconds(result.seconds)} of {result.minutes:g} minutes"


def _values(stage: StageResult, values: Mapping[str, Any] | None) -> list[str]:
    return [format_value(setting.job if values is None else values[name]) for name, setting in stage.settings.items()]


def student_table(result: StudentResult) -> Table:
    """A row for each candidate, the longest trained first; the last note gives the duration."""
    (length,) = result.lengths
    headings = ["candidate", f"validation {result.metric.replace('_', ' ')}", "kept, %", "trained, %"]
    headings += ["MB", "MB deflated", f"ms, {length} tokens"]
    first, *others = result.rungs.items()
    others.sort(key=lambda rung: (-rung[1].trained, -rung[1].score.mean))
    rows = [
        [
            name + (" •" if record.on_front else ""),
            f"{100 * record.score.mean:.2f}",
            f"{100 * record.share:.1f}",
            f"{100 * record.trained:.0f}",
            f"{record.megabytes:.2f}",
            f"{record.download_megabytes:.2f}",
            f"{record.milliseconds[str(length)]:.2f}",
        ]
        for name, record in (first, *others)
    ]
    expected = "" if result.expected is None else f"; the plan was {format_seconds(result.expected)}"
    notes = [
        f"scores: x 100, on {result.rows} validation rows, quantized; kept: share of the float teacher's score",
        "trained: share of the job's distillation; • no other candidate is smaller, faster and better",
        "l layers, h heads, f units, r rank of the token table, v vocabulary entries; other sizes are the teacher's",
        f"the search took {format_seconds(result.seconds)}, without the teacher{expected}",
    ]
    return Table(headings, rows, notes, result.name)
