"""What a person sees of what is behind a run, a step and a file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from pipeline.orchestrator.changes import Change
from pipeline.orchestrator.preview import Preview
from pipeline.orchestrator.records import StoredArtifact
from pipeline.provenance.difference import Difference, Pair
from pipeline.provenance.garbage import Garbage
from pipeline.provenance.lineage import Lineage
from pipeline.provenance.why import Reason
from pipeline.views.terminal import cells, write

# Of a digest, and of a value that is long.
_DIGEST, _LONGEST = 12, 60


def show_reason(reason: Reason, console: Console) -> None:
    """Prints why a step ran, and below that why what it reads did."""
    console.print(_tree_of(reason, ""))


def _tree_of(reason: Reason, as_input: str) -> Tree:
    own = reason.execution
    head = f"{as_input}{own.node}, run {own.run}: {own.state}"
    tree = Tree(Text(f"{head}; {_told(reason)}"))
    for change in reason.changes:
        cause = reason.causes.get(change.name) if change.kind == "input" else None
        if cause is None:
            tree.add(Text(describe_change(change)))
        else:
            tree.add(_tree_of(cause, f"input {change.name}: other content, of "))
    return tree


def _told(reason: Reason) -> str:
    if reason.before is None:
        return "it never ran before"
    against = f"run {reason.before.run}"
    if not reason.is_known:
        return f"what it was made of in {against} was not recorded"
    if not reason.changes:
        return f"nothing has changed since {against}"
    return f"since {against}, {len(reason.changes)} of what it is made of changed"


def describe_change(change: Change) -> str:
    """One ingredient, as it was and as it is."""
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


def show_preview(previews: Sequence[Preview], console: Console) -> None:
    """Prints what would become of each step."""
    table = Table("step", "would", title_justify="left")
    table.add_column("why", overflow="fold")
    for each in previews:
        would = {"done": "be found done", "runs": "run", "follows": "follow"}[each.state]
        why = "\n".join(describe_change(change) for change in each.changes) or each.why
        table.add_row(*cells(each.step, would, why))
    console.print(table)


def show_lineage(lineage: Lineage, console: Console) -> None:
    """Prints a tree: under each artifact the step that made it, and under that all it read."""
    shown: set[int] = set()
    tree = Tree(_name(lineage.artifact))
    _grow(tree, lineage, lineage.artifact, shown)
    console.print(tree, soft_wrap=True)


def _grow(tree: Tree, lineage: Lineage, artifact: StoredArtifact, shown: set[int]) -> None:
    step = lineage.steps.get(artifact.id)
    if step is None or artifact.id in shown:
        return
    shown.add(artifact.id)
    branch = tree.add(Text(f"made by {step.execution.node} in run {step.execution.run}"))
    for name, read in step.inputs.items():
        again = " (above)" if read.id in shown else ""
        _grow(branch.add(Text(f"{name}: {_name(read)}{again}")), lineage, read, shown)
    if step.ingredients is None:
        branch.add(Text("files of its settings: not recorded"))
    else:
        for name, files in step.ingredients.files.items():
            data = branch.add(Text(f"{name}:"))
            for file, digest in files.items():
                data.add(Text(f"{file} {digest[:_DIGEST]}"))


def _name(artifact: StoredArtifact) -> str:
    where = artifact.path or "no longer there"
    return f"{artifact.type} {artifact.fingerprint[:_DIGEST]} ({where})"


def show_difference(difference: Difference, one: int, other: int, console: Console) -> None:
    """Prints settings, states and scores of two runs that differ."""
    headings = (f"run {one}", f"run {other}")
    if difference.settings is None:
        write(console, "settings: not recorded of both runs")
    else:
        _show_pairs("settings", difference.settings, headings, console, _value)
    _show_pairs("steps", difference.steps, headings, console)
    if not difference.scores:
        write(console, "scores: neither run measured any that are still there")
        return
    table = Table("model", "figure", *headings, "difference", title="scores", title_justify="left")
    for row in _score_rows(difference.scores):
        table.add_row(*cells(*row))
    console.print(table)


def _show_pairs(
    title: str, pairs: Mapping[str, Pair], headings: Sequence[str], console: Console, told: Callable[[Any], str] = str
) -> None:
    if not pairs:
        write(console, f"{title}: the same")
        return
    table = Table(title.removesuffix("s"), *headings, title=title, title_justify="left")
    for name, pair in pairs.items():
        table.add_row(*cells(name, *(told(value) for value in pair)))
    console.print(table)


def _score_rows(scores: Mapping[str, Mapping[str, Pair]]) -> Iterator[tuple[str, ...]]:
    for model, figures in scores.items():
        for figure, pair in figures.items():
            factor = 1 if figure in ("megabytes", "milliseconds") else 100
            told = [f"{factor * value:.2f}" if isinstance(value, float) else "" for value in pair]
            both = isinstance(pair.one, float) and isinstance(pair.other, float)
            change = f"{factor * (pair.other - pair.one):+.2f}" if both else ""
            yield model, figure.replace("_", " "), *told, change


def show_garbage(garbage: Garbage, console: Console, *, is_removed: bool) -> None:
    """Prints what is or would be removed, the largest first."""
    table = Table()
    table.add_column("path", overflow="fold")
    table.add_column("MB", justify="right")
    for path, size in sorted({**garbage.artifacts, **garbage.logs}.items(), key=lambda item: -item[1]):
        table.add_row(*cells(path, f"{size / 1e6:.2f}"))
    if table.rows:
        console.print(table)
    did = "removed" if is_removed else "would be removed"
    write(console, f"{did}: {len(garbage.artifacts)} artifacts, {len(garbage.logs)} logs, {garbage.size / 1e6:.2f} MB")
