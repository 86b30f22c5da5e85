"""Reads the lineage of the last artifact of a run, step by step, down to the user's data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from components.dsl.artifact import MANIFEST
from pipeline.report.record import RunRecord, RunStep, find_reads, read_json


class Origin(NamedTuple):
    """A step that the last artifact depends on.

    Attributes:
        step: the name of the step.
        run: the run that executed it.
        reads: the steps whose outputs it read.
        data: the user's data that it read: parameter, file and digest; without recorded files, the kind of data in the
            place of the file.
        made: its outputs: name, type, digest and path relative to the root.
    """

    step: str
    run: int
    reads: list[str]
    data: list[tuple[str, str, str]]
    made: list[tuple[str, str, str, str]]


def read_origins(record: RunRecord) -> list[Origin]:
    """The last step with outputs and the steps that it depends on, in their order; empty if no step has outputs."""
    made = [step for step in record.steps if step.outputs]
    if not made:
        return []
    reads = find_reads(made)
    needed = {made[-1].name}
    for step in reversed(made):
        if step.name in needed:
            needed |= set(reads[step.name])
    return [_describe(record, step, reads[step.name]) for step in made if step.name in needed]


def _describe(record: RunRecord, step: RunStep, reads: list[str]) -> Origin:
    assert step.made is not None
    outputs = [
        (name, artifact.type, artifact.fingerprint, artifact.path or "") for name, artifact in step.outputs.items()
    ]
    files = [(name, file, digest) for name, read in step.files.items() for file, digest in read.items()]
    data = files or {source: None for *_, path in outputs if path for source in _read_sources(record, path)}
    return Origin(step.name, step.made.run, reads, list(data), outputs)


def _read_sources(record: RunRecord, path: str) -> Iterator[tuple[str, str, str]]:
    """The data outside of the store in a manifest: parameters that are recorded as a type and a digest."""
    manifest: Mapping[str, Any] = read_json(record.root / path / MANIFEST) or {}
    for name, value in manifest.get("parameters", {}).items():
        if isinstance(value, Mapping) and value.keys() == {"type", "fingerprint"}:
            yield name, value["type"], value["fingerprint"]
