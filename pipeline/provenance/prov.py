"""A lineage in the terms of others."""

from collections.abc import Iterator
from typing import Any

from pipeline.orchestrator.records import StoredArtifact
from pipeline.provenance.lineage import Lineage, Step

_PREFIXES = {"edge": "urn:keras-bert-edge:", "prov": "http://www.w3.org/ns/prov#"}


def to_prov(lineage: Lineage) -> dict[str, Any]:
    """A lineage in PROV-JSON (W3C member submission of 24 April 2013, section 3).

    Artifacts and the user's files are entities, steps are activities.
    """
    content: dict[str, Any] = {"prefix": _PREFIXES, "entity": {}, "activity": {}, "wasGeneratedBy": {}, "used": {}}
    for artifact in _artifacts(lineage):
        described = {"prov:type": artifact.type, "edge:fingerprint": artifact.fingerprint, "edge:path": artifact.path}
        content["entity"][_name(artifact.id)] = described
    for number, step in lineage.steps.items():
        activity = f"edge:step/{step.execution.key}"
        content["activity"][activity] = _describe(step)
        _relate(content["wasGeneratedBy"], activity, _name(number))
        for name, artifact in step.inputs.items():
            _relate(content["used"], activity, _name(artifact.id), name)
        for name, file, digest in _files(step):
            entity = f"edge:data/{digest}/{file}"
            content["entity"][entity] = {"prov:label": file, "edge:digest": digest}
            _relate(content["used"], activity, entity, name)
    return content


def _name(artifact: int) -> str:
    return f"edge:artifact/{artifact}"


def _artifacts(lineage: Lineage) -> Iterator[StoredArtifact]:
    yield lineage.artifact
    for step in lineage.steps.values():
        yield from step.inputs.values()


def _files(step: Step) -> Iterator[tuple[str, str, str]]:
    """The parameter, the file and its digest, of the user's data that a step read."""
    if step.ingredients is not None:
        for name, read in step.ingredients.files.items():
            for file, digest in read.items():
                yield name, file, digest


def _describe(step: Step) -> dict[str, Any]:
    execution, made_of = step.execution, step.ingredients
    described = {"prov:label": execution.node, "edge:run": execution.run, "edge:seconds": execution.seconds}
    if made_of is not None:
        described |= {
            "edge:component": made_of.component,
            "edge:parameters": made_of.parameters,
            "edge:code": made_of.code,
            "edge:libraries": made_of.libraries,
            "edge:python": made_of.python,
        }
    return described


def _relate(relations: dict[str, Any], activity: str, entity: str, role: str | None = None) -> None:
    told = {"prov:activity": activity, "prov:entity": entity}
    relations[f"_:{len(relations)}"] = told if role is None else told | {"prov:role": role}
