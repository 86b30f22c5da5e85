"""What the last artifact of a run came from, step by step, down to the user's data."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from components.dsl.artifact import MANIFEST
from pipeline.report.record import Record, Step, read_json, reads_of


class Origin(NamedTuple):
    """A step on the way.

    Attributes:
        step: its name.
        run: that made it.
        reads: the steps that made what it read.
        data: the user's data that it read: parameter, file and digest; of older releases the kind of data in the
            place of the file.
        made: its outputs: name, type, digest and path below the root.
    """

    step: str
    run: int
    reads: list[str]
    data: list[tuple[str, str, str]]
    made: list[tuple[str, str, str, str]]


def read_origins(record: Record) -> list[Origin]:
    """The steps behind the last one that made something, and that one, in their order; none where none made any."""
    made = [step for step in record.steps if step.outputs]
    if not made:
        return []
    reads = reads_of(made)
    wanted = {made[-1].name}
    for step in reversed(made):
        if step.name in wanted:
            wanted |= set(reads[step.name])
    return [_describe(record, step, reads[step.name]) for step in made if step.name in wanted]


def _describe(record: Record, step: Step, reads: list[str]) -> Origin:
    assert step.made is not None
    outputs = [(name, own.type, own.fingerprint, own.path or "") for name, own in step.outputs.items()]
    files = [(name, file, digest) for name, read in step.files.items() for file, digest in read.items()]
    data = files or {found: None for *_, path in outputs if path for found in _data(record, path)}
    return Origin(step.name, step.made.run, reads, list(data), outputs)


def _data(record: Record, path: str) -> Iterator[tuple[str, str, str]]:
    """What a manifest says of data outside of the store: parameters that stand as a type and a digest alone."""
    manifest: Mapping[str, Any] = read_json(record.root / path / MANIFEST) or {}
    for name, value in manifest.get("parameters", {}).items():
        if isinstance(value, Mapping) and value.keys() == {"type", "fingerprint"}:
            yield name, value["type"], value["fingerprint"]
