"""The lineage of a file: the artifacts and steps that it was made from, down to the user's files."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from components.artifacts.pushed import Pushed
from components.dsl.artifact import content_digest
from components.dsl.errors import InputError
from components.sources.pushed_version import ORIGIN_FILE
from pipeline.orchestrator.history import RunHistory
from pipeline.orchestrator.records import Execution, Ingredients, StoredArtifact


class LineageStep(NamedTuple):
    """The step that made an artifact."""

    execution: Execution
    ingredients: Ingredients | None
    inputs: dict[str, StoredArtifact]


class Lineage(NamedTuple):
    """The lineage of an artifact."""

    artifact: StoredArtifact
    steps: dict[int, LineageStep]

    def files(self) -> dict[str, str]:
        """Digests of the user's files that the steps read, by file."""
        ingredients = (step.ingredients for step in self.steps.values() if step.ingredients is not None)
        digests = (files for step in ingredients for files in step.files.values())
        return {file: digest for files in digests for file, digest in files.items()}


def find_lineage(history: RunHistory, root: Path, file: Path) -> Lineage:
    """Finds the lineage of a pushed file or a copy of it, a pushed folder, an artifact, or a file in one."""
    if not file.exists():
        raise InputError(f"FILE must be a file or a folder that exists, got {file}")
    stored = [published.artifact for published in history.artifacts()]
    pull_pushed(history, stored)
    path = file.resolve()
    for artifact in stored:
        if path.is_relative_to((root / str(artifact.path)).resolve()):
            return lineage_of(history, artifact)
    pushed = list(pushed_folders(root, stored))
    for artifact, location, _ in pushed:
        if path.is_relative_to(location.resolve()):
            return lineage_of(history, artifact)
    # Versions may share files, such as a vocabulary; the origin beside a copy tells which version it belongs to.
    folder = next((folder for folder in (path, *path.parents[:3]) if (folder / ORIGIN_FILE).is_file()), None)
    files = [file] if folder is None else [file, folder / ORIGIN_FILE]
    copied = {content_digest(copy) for copy in files if copy.is_file()}
    for artifact, _, digests in pushed:
        if copied and copied <= digests:
            return lineage_of(history, artifact)
    raise InputError(
        f"FILE must be an artifact or made in the root {root}, got {file}: no pushed version or artifact holds it; "
        "`show` lists artifacts"
    )


def lineage_of(history: RunHistory, artifact: StoredArtifact) -> Lineage:
    """The lineage of an artifact."""
    steps: dict[int, LineageStep] = {}
    pending = [artifact]
    while pending:
        current = pending.pop()
        if current.id not in steps:
            maker = history.maker_of(current.id)
            inputs = history.artifacts_of(maker.id, "input")
            steps[current.id] = LineageStep(maker.execution, history.ingredients(maker.execution.key), inputs)
            pending.extend(inputs.values())
    return Lineage(artifact, steps)


def pull_pushed(history: RunHistory, stored: list[StoredArtifact]) -> None:
    """Makes sure that the artifacts of all pushes, which are small, are on this machine."""
    for artifact in stored:
        if artifact.type == Pushed.__name__:
            history.pull(artifact)


def pushed_folders(root: Path, stored: list[StoredArtifact]) -> Iterator[tuple[StoredArtifact, Path, set[str]]]:
    """Yields the artifact of every push, its folder, and the digests of the files in it."""
    for artifact in stored:
        if artifact.type == Pushed.__name__:
            pushed = Pushed(root / str(artifact.path))
            try:
                yield artifact, pushed.location(), set(pushed.content()["files"].values())
            except (OSError, ValueError, KeyError):
                continue  # removed or corrupted; the next run makes it again
