"""One artifact as a piece of a page, for a notebook."""

import contextlib
import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.artifact import MANIFEST, Artifact
from components.dsl.errors import InputError
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.store import Store
from pipeline.report.drawn import Drawn
from pipeline.report.page import make_artifact_page
from pipeline.report.record import Record, Step, read_json
from pipeline.views.statistics import format_value

# Of a file that is told whole, of the values that are, and of the names of files.
_MOST_BYTES, _MOST_VALUES, _MOST_FILES = 20_000, 40, 20
# What other parts of the page tell.
_TOLD_ELSEWHERE = (MANIFEST, "statistics.json", "features.json", "metrics.json", "answers.json", "samples.json")


class Facts(NamedTuple):
    """What is to be known of any artifact: title -> {label: value}."""

    title: str
    tables: dict[str, dict[str, str]]


class Shown:
    """An artifact that a notebook draws as the last value of a cell.

    Attributes:
        page: complete HTML, without a script.
        height: of the frame in the notebook, in pixels; longer pages scroll.
    """

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        # A frame of its own: the page's style must not reach the notebook's.
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe sandbox srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'


def show(artifact: Artifact, height: int = 480) -> Shown:
    """Statistics, rows, curves or scores of an artifact, by what it is.

    Args:
        artifact: that a run has made.
        height: of the frame, in pixels.

    Raises:
        InputError: it lies in no root, or no run has made it.
    """
    record = _record_of(artifact)
    # Pictures are not kept: a notebook shows an artifact once.
    return Shown(make_artifact_page(record, read_facts(artifact), Drawn()), height)


def read_facts(artifact: Artifact) -> Facts:
    """What the manifest says, and small files of values."""
    manifest = artifact.manifest()
    tables = {name: dict(table) for name, table in _tables(artifact.path, manifest) if table}
    return Facts(f"{type(artifact).__name__} {manifest['fingerprint'][:12]}", tables)


def _tables(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "counts", {name: format_value(value) for name, value in flatten(manifest["counts"]).items()}
    sizes = sorted(manifest["files"].items(), key=lambda item: -item[1])
    yield "bytes", {name: format_value(size) for name, size in sizes[:_MOST_FILES]}
    for name, size in manifest["files"].items():
        if name.endswith(".json") and name not in _TOLD_ELSEWHERE and size <= _MOST_BYTES:
            values = flatten(read_json(folder / name))
            yield name, {key: _cut(value) for key, value in [*values.items()][:_MOST_VALUES]}


def _cut(value: Any) -> str:
    text = format_value(value) if not isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _record_of(artifact: Artifact) -> Record:
    """The run that made an artifact, as if that had been all of it."""
    # ROOT/artifacts/STEP/NAME-KEY
    folder = artifact.path.absolute()
    root = folder.parents[2] if len(folder.parents) > 2 else folder
    with contextlib.closing(Store(root, create=False)) as store:
        for published in store.artifacts():
            if published.artifact.path == folder.relative_to(root).as_posix():
                maker = store.maker_of(published.artifact.id)
                run = next(run for run in store.runs() if run.id == maker.execution.run)
                own = {
                    name: each
                    for name, each in store.artifacts_of(maker.id, "output").items()
                    if name == published.name
                }
                step = Step(maker.execution, maker.execution, store.artifacts_of(maker.id, "input"), own)
                return Record(root, run, (step,))
    raise InputError(f"an artifact must be one that a run has made and that is still there, got {artifact.path}")
