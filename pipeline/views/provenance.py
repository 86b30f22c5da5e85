"""Prints runs and artifacts, and the provenance of runs, steps and files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.tree import Tree

from components.artifacts.evaluation import SIZES
from components.scoring.base import IN_LABEL_UNITS
from pipeline.orchestrator.changes import Change
from pipeline.orchestrator.observer import Estimate
from pipeline.orchestrator.preview import Preview
from pipeline.orchestrator.records import Garbage, StoredArtifact
from pipeline.orchestrator.root_store import RootStore
from pipeline.provenance.difference import Pair, RunDifference
from pipeline.provenance.lineage import Lineage
from pipeline.provenance.why import Reason
from pipeline.views.tables import Table, Wrapped
from pipeline.views.terminal import GuessSeconds, describe_estimate, format_seconds, format_time, write

# Shown characters of a digest, and of a long value.
_DIGEST, _LONGEST = 12, 60


def show_reason(reason: Reason, console: Console) -> None:
    """Prints why a step ran, and below that why the steps ran whose outputs it reads."""
    console.print(_tree_of(reason, ""))


def _tree_of(reason: Reason, as_input: str) -> Tree:
    execution = reason.execution
    head = f"{as_input}{execution.node}, run {execution.run}: {execution.state}"
    against = "" if reason.before is None else f"run {reason.before.run}"
    if reason.before is None:
        why = "it never ran before"
    elif not reason.is_known:
        why = f"the parts of its cache key in {against} were not recorded"
    elif not reason.changes:
        why = f"nothing has changed since {against}"
    else:
        count = len(reason.changes)
        why = f"since {against}, {count} part{'s' if count > 1 else ''} of its cache key changed"
    tree = Tree(Wrapped(f"{head}; {why}"))
    for change in reason.changes:
        cause = reason.causes.get(change.name) if change.kind == "input" else None
        if cause is None:
            tree.add(Wrapped(describe_change(change)))
        else:
            tree.add(_tree_of(cause, f"input {change.name}: other content, of "))
    return tree


def describe_change(change: Change) -> str:
    """Describes the old and the new value of a part of a cache key."""
    if change.kind in ("module", "file", "input"):
        if change.old is None:
            return f"{change.kind} {change.name}: new"
        if change.new is None:
            return f"{change.kind} {change.name}: gone"
        return f"{change.kind} {change.name}: {change.old[:_DIGEST]} -> {change.new[:_DIGEST]}"
    return f"{change.kind} {change.name}".rstrip() + f": {_value(change.old)} -> {_value(change.new)}"


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def show_preview(previews: Sequence[Preview], console: Console, guess_seconds: GuessSeconds) -> None:
    """Prints the prediction for every step, and how long the run would take, see `describe_estimate`."""
    rows = []
    for preview in previews:
        would = {"done": "use the cache", "runs": "run", "follows": "follow"}[preview.state]
        why = "\n".join(describe_change(change) for change in preview.changes) or preview.why
        rows.append([preview.step, would, why])
    Table(["step", "would", "why"], rows, justify="left").show(console)
    durations = {preview.step: preview.expected for preview in previews if preview.state != "done"}
    if durations:
        write(console, describe_estimate(Estimate.of(durations), guess_seconds))


def show_lineage(lineage: Lineage, console: Console) -> None:
    """Prints a tree: below every artifact the step that made it, and below that the inputs of the step."""
    shown: set[int] = set()
    tree = Tree(Wrapped(_name(lineage.artifact)))
    _grow(tree, lineage, lineage.artifact, shown)
    console.print(tree)


def _grow(tree: Tree, lineage: Lineage, artifact: StoredArtifact, shown: set[int]) -> None:
    step = lineage.steps.get(artifact.id)
    if step is None or artifact.id in shown:
        return
    shown.add(artifact.id)
    branch = tree.add(Wrapped(f"made by {step.execution.node} in run {step.execution.run}"))
    for name, read in step.inputs.items():
        label = f"{_title(read)} (above)" if read.id in shown else _name(read)
        _grow(branch.add(Wrapped(f"{name}: {label}")), lineage, read, shown)
    if step.ingredients is None:
        branch.add(Wrapped("files of its settings: not recorded"))
    else:
        for name, files in step.ingredients.files.items():
            data = branch.add(Wrapped(f"{name}:"))
            for file, digest in files.items():
                data.add(Wrapped(f"{file} {digest[:_DIGEST]}"))


def _name(artifact: StoredArtifact) -> str:
    return f"{_title(artifact)} ({artifact.path or 'no longer there'})"


def _title(artifact: StoredArtifact) -> str:
    return f"{artifact.type} {artifact.fingerprint[:_DIGEST]}"


def show_difference(difference: RunDifference, one: int, other: int, console: Console) -> None:
    """Prints settings, states and scores of two runs that differ."""
    headings = (f"run {one}", f"run {other}")
    if difference.settings is None:
        write(console, "settings: not recorded of both runs")
    else:
        _show_pairs("settings", difference.settings, headings, console, _value)
    _show_pairs("steps", difference.steps, headings, console, lambda state: state or "none")
    if not difference.scores:
        write(console, "scores: neither run measured any that are still there")
        return
    rows = []
    for model, figures in difference.scores.items():
        for figure, pair in figures.items():
            is_error = figure in IN_LABEL_UNITS
            factor = 1 if is_error or figure in SIZES else 100
            form = ".4g" if is_error else ".2f"
            texts = [f"{factor * value:{form}}" if isinstance(value, float) else "" for value in pair]
            both = isinstance(pair.one, float) and isinstance(pair.other, float)
            change = f"{factor * (pair.other - pair.one):+{form}}" if both else ""
            rows.append([model, figure.replace("_", " "), *texts, change])
    Table(["model", "figure", *headings, "difference"], rows, title="scores", justify="left").show(console)


def _show_pairs(
    title: str, pairs: Mapping[str, Pair], headings: Sequence[str], console: Console, describe: Callable[[Any], str]
) -> None:
    if not pairs:
        write(console, f"{title}: the same")
        return
    rows = [[name, *(describe(value) for value in pair)] for name, pair in pairs.items()]
    Table([title.removesuffix("s"), *headings], rows, title=title, justify="left").show(console)


def show_garbage(garbage: Garbage, console: Console, *, is_removed: bool) -> None:
    """Prints artifacts and logs that are or would be removed, the largest first."""
    sizes = sorted({**garbage.artifacts, **garbage.logs}.items(), key=lambda item: -item[1])
    if sizes:
        Table(["path", "MB"], [[path, f"{size / 1e6:.2f}"] for path, size in sizes]).show(console)
    did = "removed" if is_removed else "would be removed"
    write(console, f"{did}: {len(garbage.artifacts)} artifacts, {len(garbage.logs)} logs, {garbage.size / 1e6:.2f} MB")


def show_status(store: RootStore, console: Console) -> None:
    """Draws the runs and artifacts of a store."""
    runs = [
        [
            str(run.id),
            run.pipeline if run.invocation is None else f"{run.pipeline} ({run.invocation})",
            run.state,
            format_time(run.started),
            "" if run.ended is None else format_seconds(run.ended - run.started),
        ]
        for run in store.runs()
    ]
    Table(["run", "pipeline", "state", "started", "took"], runs, title="runs", justify="left").show(console)
    artifacts = [
        [str(made.run), made.artifact.type, made.artifact.fingerprint[:12], made.artifact.path or "(replaced)"]
        for made in store.artifacts()
    ]
    Table(["run", "type", "fingerprint", "path"], artifacts, title="artifacts", justify="left").show(console)


def show_run(store: RootStore, number: int, console: Console) -> None:
    """Draws the steps of a run."""
    run = store.run_of(number)
    steps = [
        [execution.node, execution.state, format_seconds(execution.seconds), execution.message]
        for execution in store.executions(number)
    ]
    title = f"run {number} of {run.pipeline}: {run.state}"
    Table(["step", "state", "took", "message"], steps, title=title, justify="left").show(console)
