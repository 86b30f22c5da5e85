"""The tables of a search for settings: the best few beside the job's own, and what each setting is worth."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from components.artifacts.evaluation import SeedScores
from components.scoring.model_card import format_score
from pipeline.settings.toml_text import format_value
from pipeline.views.tables import render_table, show_grid, show_table
from pipeline.views.terminal import format_seconds

Content = Mapping[str, Any]
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


def show_tuning(content: Content, console: Console) -> None:
    """Prints the tables of each stage, and the notes that explain them."""
    for stage, record in content["stages"].items():
        headings, rows = build_finalists(content, record)
        show_table(headings, rows, build_notes(content, stage), console, title=_title(stage))
        headings, rows = build_settings(record)
        show_grid(headings, rows, console, title=f"{stage}: settings")
    for note in build_last_notes(content):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def render_tuning(content: Content) -> str:
    """Renders the tables as Markdown."""
    parts = []
    for stage, record in content["stages"].items():
        parts.append(render_table(_title(stage), *build_finalists(content, record), build_notes(content, stage)))
        parts.append(render_table(f"{stage}: settings", *build_settings(record), ()))
        parts.append(render_table(f"{stage}: trials", *build_trials(record), ()))
    return "\n".join([*parts, *build_last_notes(content)]) + "\n"


def build_finalists(content: Content, record: Content) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a row for each finalist, the winner first."""
    metric = content["metric"].replace("_", " ")
    headings = [
        "settings",
        f"validation {metric}, {describe_count(content['seeds'], 'seed')}",
        "against the job's",
        "values",
    ]
    finalists, winner = record["finalists"], record["winner"]["name"]
    job_mean = finalists[BASELINE]["score"]["mean"]
    order = sorted(finalists, key=lambda name: (name != winner, -finalists[name]["score"]["mean"]))
    rows = []
    for name in order:
        score, values = finalists[name]["score"], finalists[name]["values"]
        difference = "" if name == BASELINE else f"{100 * (score['mean'] - job_mean):+.2f}"
        shown = format_score(SeedScores(score["mean"], score["sd"], score["seeds"]))
        label = describe_finalist(name) + (" •" if name == winner else "")
        rows.append([label, shown, difference, "\n".join(f"{key} = {format_value(v)}" for key, v in values.items())])
    return headings, rows


def build_settings(record: Content) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a row for each value of a setting, or part of its range."""
    shares = any(setting["importance"] is not None for setting in record["settings"].values())
    headings = ["setting", "values", "trials", "pruned", "mean score", "best score"]
    headings += ["share of variance"] if shares else []
    rows = []
    for name, setting in record["settings"].items():
        for number, level in enumerate(setting["levels"]):
            ends = dict.fromkeys(map(format_value, (level["low"], level["high"])))
            row = [name if number == 0 else "", " to ".join(ends), str(level["trials"]), str(level["pruned"])]
            row += ["" if level[key] is None else f"{100 * level[key]:.2f}" for key in ("mean", "best")]
            row += [f"{100 * setting['importance']:.0f} %" if number == 0 else ""] if shares else []
            rows.append(row)
    return headings, rows


def build_trials(record: Content) -> tuple[list[str], list[list[str]]]:
    """Returns the headings, and a row for each trial."""
    headings = ["trial", "validation score", "time", *record["settings"]]
    rows = [["job", f"{100 * record['job_score']:.2f}", "", *_values(record, None)]]
    for trial in record["trials"]:
        score = trial["state"] if trial["score"] is None else f"{100 * trial['score']:.2f}"
        rows.append([str(trial["number"]), score, format_seconds(trial["seconds"]), *_values(record, trial["values"])])
    return headings, rows


def build_notes(content: Content, stage: str) -> Iterator[str]:
    """Yields the notes below the first table of a stage, one per line."""
    record = content["stages"][stage]
    trials = record["trials"]
    states = [trial["state"] for trial in trials]
    yield (
        f"scores: x 100, on {content['rows']} validation rows; the mean over seeds decides (•); the first seed is the "
        "one that was searched with, so that its score is too high"
    )
    if record["later"]:
        yield f"trials were scored before {' and '.join(record['later'])}, the best few after"
    yield (
        f"{describe_count(len(trials), 'trial')} besides the job's own settings: {states.count('done')} whole, "
        f"{states.count('pruned')} pruned, {states.count('rejected')} rejected"
    )


def build_last_notes(content: Content) -> Iterator[str]:
    """Yields the notes about the whole search, one per line; the last gives the duration."""
    settings = [one for record in content["stages"].values() for one in record["settings"].values()]
    yield (
        "scores of settings: means of whole trials, which pruning and a sampler that prefers good values raise; "
        "a mean of one or two trials says little"
    )
    if any(one["importance"] is not None for one in settings):
        yield "share of variance: fANOVA (Hutter et al. 2014) on the whole trials, by all values of a setting"
    else:
        yield "no shares of variance: they need 20 whole trials of a model"
    yield f"the search took {format_seconds(content['seconds'])} of {content['minutes']:g} minutes"


def _title(stage: str) -> str:
    return f"{stage}: the best settings"


def _values(record: Content, values: Mapping[str, Any] | None) -> list[str]:
    return [
        format_value(setting["job"] if values is None else values[name]) for name, setting in record["settings"].items()
    ]
