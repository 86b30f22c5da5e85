"""Displays an artifact in a notebook."""

import contextlib
import html
from typing import NamedTuple

from components.dsl.artifact import MANIFEST, Artifact
from components.dsl.errors import InputError
from pipeline.capabilities import UNLISTED_FILES
from pipeline.orchestrator.store import Store
from pipeline.report.figures import FigureCache
from pipeline.report.page import make_artifact_page
from pipeline.report.record import RunRecord, RunStep
from pipeline.views.statistics import artifact_tables

# Files that other sections of the page show.
_SHOWN_ELSEWHERE = (
    *(MANIFEST, *UNLISTED_FILES),
    *("statistics.json", "features.json", "metrics.json", "answers.json", "samples.json"),
)


class ArtifactFacts(NamedTuple):
    """Title and tables of an artifact; `tables`: title -> {label: value}."""

    title: str
    tables: dict[str, dict[str, str]]


class ArtifactView:
    """An artifact that a notebook displays as the last value of a cell."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        # In a frame the style of the page does not affect the notebook.
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe sandbox srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'


def show(artifact: Artifact, height: int = 480) -> ArtifactView:
    """Shows the statistics, rows, curves or scores of an artifact, depending on its type; `height` is in pixels."""
    if not isinstance(artifact, Artifact):
        raise InputError(f"show must be given an artifact, as `job.run(step)[output]` is one, got {artifact!r}")
    # ROOT/artifacts/STEP/NAME-KEY
    folder = artifact.path.absolute()
    root = folder.parents[2] if len(folder.parents) > 2 else folder
    with contextlib.closing(Store(root, create=False)) as store:
        for published in store.artifacts():
            if published.artifact.path == folder.relative_to(root).as_posix():
                maker = store.maker_of(published.artifact.id)
                run = next(run for run in store.runs() if run.id == maker.execution.run)
                outputs = {published.name: store.artifacts_of(maker.id, "output")[published.name]}
                step = RunStep(maker.execution, maker.execution, store.artifacts_of(maker.id, "input"), outputs)
                # A notebook shows an artifact once: its figures are not cached.
                page = make_artifact_page(RunRecord(root, run, (step,)), read_facts(artifact), FigureCache())
                return ArtifactView(page, height)
    raise InputError(f"an artifact must be one that a run has made and that is still there, got {artifact.path}")


def read_facts(artifact: Artifact) -> ArtifactFacts:
    """Reads the facts from the manifest and from small files of values."""
    manifest = artifact.manifest()
    tables = artifact_tables(artifact.path, _SHOWN_ELSEWHERE)
    return ArtifactFacts(f"{type(artifact).__name__} {manifest['fingerprint'][:12]}", tables)
