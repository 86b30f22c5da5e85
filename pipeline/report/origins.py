"""Reads the lineage of the last artifact of a run, step by step, down to the user's data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from components.dsl.artifact import MANIFEST
from pipeline.report.record import RunRecord, find_reads, read_json


class Origin(NamedTuple):
    """A step that the last artifact depends on, with outputs (name, type, digest, path relative to the root).

    It read the user's `data` (parameter, file, digest); without recorded files, the kind of data stands for the file.
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
    origins = []
    for step in made:
        if step.name in needed and step.made is not None:
            outputs = [(name, file.type, file.fingerprint, file.path or "") for name, file in step.outputs.items()]
            data = [(name, file, digest) for name, read in step.files.items() for file, digest in read.items()]
            # Without recorded files: the parameters that manifests record as a type and a digest.
            for path in [] if data else [path for *_, path in outputs if path]:
                manifest: Mapping[str, Any] = read_json(record.root / path / MANIFEST) or {}
                for name, value in manifest.get("parameters", {}).items():
                    if isinstance(value, Mapping) and value.keys() == {"type", "fingerprint"}:
                        data.append((name, value["type"], value["fingerprint"]))
            origins.append(Origin(step.name, step.made.run, reads[step.name], list(dict.fromkeys(data)), outputs))
    return origins
