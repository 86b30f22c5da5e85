"""All that is behind a file: artifacts and steps, down to the user's own files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from components.artifacts.pushed import Pushed
from components.dsl.artifact import content_digest
from components.dsl.errors import InputError
from pipeline.orchestrator.history import History
from pipeline.orchestrator.records import Execution, Ingredients, StoredArtifact


class Step(NamedTuple):
    """What made an artifact.

    Attributes:
        execution: which step, in which run.
        ingredients: None where they were not recorded.
        inputs: name -> artifact.
    """

    execution: Execution
    ingredients: Ingredients | None
    inputs: dict[str, StoredArtifact]


class Lineage(NamedTuple):
    """What is behind an artifact.

    Attributes:
        artifact: where it begins.
        steps: the step behind each artifact, by its id. Of models that were pushed before, with which this one was
            compared, there is none.
    """

    artifact: StoredArtifact
    steps: dict[int, Step]

    def files(self) -> dict[str, str]:
        """The user's files -> digests, of all steps."""
        made_of = (step.ingredients for step in self.steps.values() if step.ingredients is not None)
        return {file: digest for each in made_of for read in each.files.values() for file, digest in read.items()}


def find_lineage(history: History, root: Path, file: Path) -> Lineage:
    """All that is behind a file.

    Args:
        history: of the root.
        root: where the file was made.
        file: a pushed file, wherever it was copied to; a pushed folder; or an artifact, or a file in one.

    Raises:
        InputError: the file is not there, or was not made in this root.
    """
    if not file.exists():
        raise InputError(f"FILE must be a file or a folder that exists, got {file}")
    return behind(history, _find_artifact(history, root, file))


def behind(history: History, artifact: StoredArtifact) -> Lineage:
    """All that is behind an artifact."""
    steps: dict[int, Step] = {}
    waiting = [artifact]
    while waiting:
        each = waiting.pop()
        # A model was only compared with one that was pushed before: it does not come from it.
        if each.id not in steps and (each is artifact or each.type != Pushed.__name__):
            maker = history.maker_of(each.id)
            inputs = history.artifacts_of(maker.id, "input")
            steps[each.id] = Step(maker.execution, history.ingredients(maker.execution.key), inputs)
            waiting.extend(inputs.values())
    return Lineage(artifact, steps)


def _find_artifact(history: History, root: Path, file: Path) -> StoredArtifact:
    stored = [published.artifact for published in history.artifacts()]
    place = file.resolve()
    for artifact in stored:
        if place.is_relative_to((root / str(artifact.path)).resolve()):
            return artifact
    digest = content_digest(file) if file.is_file() else None
    for artifact, location, digests in pushed_folders(root, stored):
        if place == location.resolve() or (digest is not None and digest in digests):
            return artifact
    raise InputError(f"FILE must be made in the root {root}, got {file}: no pushed version or artifact there holds it")


def pushed_folders(root: Path, stored: list[StoredArtifact]) -> Iterator[tuple[StoredArtifact, Path, set[str]]]:
    """Of what was pushed: the artifact that says so, the folder, and the digests of the files in it."""
    for artifact in stored:
        if artifact.type == Pushed.__name__:
            pushed = Pushed(root / str(artifact.path))
            try:
                content = json.loads(pushed.file("pushed.json").read_text())
                yield artifact, Path(content["path"]), set(content["files"].values())
            except (OSError, ValueError, KeyError):
                continue  # removed or damaged: the next run makes it again
