"""Exports a lineage as W3C PROV."""

from collections.abc import Iterator
from typing import Any

from pipeline.orchestrator.records import StoredArtifact
from pipeline.provenance.lineage import Lineage, LineageStep

_PREFIXES = {"edge": "urn:keras-bert-edge:", "prov": "http://www.w3.org/ns/prov#"}


def to_prov(lineage: Lineage) -> dict[str, Any]:
    """Converts a lineage to PROV-JSON (W3C member submission of 24 April 2013, section 3).

    Artifacts and the user's files are entities, steps are activities.
    """
    content: dict[str, Any] = {"prefix": _PREFIXES, "entity": {}, "activity": {}, "wasGeneratedBy": {}, "used": {}}
    for artifact in _artifacts(lineage):
        entity = {"prov:type": artifact.type, "edge:fingerprint": artifact.fingerprint, "edge:path": artifact.path}
        content["entity"][_name(artifact.id)] = entity
    for number, step in lineage.steps.items():
        activity = f"edge:step/{step.execution.key}"
        content["activity"][activity] = _describe(step)
        _relate(content["wasGeneratedBy"], activity, _name(number))
        for name, artifact in step.inputs.items():
            _relate(content["used"], activity, _name(artifact.id), name)
        for name, file, digest in _files(step):
            data = f"edge:data/{digest}/{file}"
            content["entity"][data] = {"prov:label": file, "edge:digest": digest}
            _relate(content["used"], activity, data, name)
    return content


def _name(artifact: int) -> str:
    return f"edge:artifact/{artifact}"


def _artifacts(lineage: Lineage) -> Iterator[StoredArtifact]:
    yield lineage.artifact
    for step in lineage.steps.values():
        yield from step.inputs.values()


def _files(step: LineageStep) -> Iterator[tuple[str, str, str]]:
    """Yields (parameter, file, digest) of the user's files that a step read."""
    if step.ingredients is not None:
        for name, digests in step.ingredients.files.items():
            for file, digest in digests.items():
                yield name, file, digest


def _describe(step: LineageStep) -> dict[str, Any]:
    execution, ingredients = step.execution, step.ingredients
    activity = {"prov:label": execution.node, "edge:run": execution.run, "edge:seconds": execution.seconds}
    if ingredients is not None:
        activity |= {
            "edge:component": ingredients.component,
            "edge:parameters": ingredients.parameters,
            "edge:code": ingredients.code,
            "edge:libraries": ingredients.libraries,
            "edge:python": ingredients.python,
        }
    return activity


def _relate(relations: dict[str, Any], activity: str, entity: str, role: str | None = None) -> None:
    relation = {"prov:activity": activity, "prov:entity": entity}
    relations[f"_:{len(relations)}"] = relation if role is None else relation | {"prov:role": role}
