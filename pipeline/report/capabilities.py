"""Reads the outputs of optional capabilities for the page of a run."""

from typing import Any, NamedTuple

from pipeline.capabilities import CAPABILITIES
from pipeline.report.record import RunRecord


class CapabilitySection(NamedTuple):
    """The section of the page about one output of a capability.

    Attributes:
        name: the name of the capability, whose folder holds the template `report.html`.
        title: the heading.
        step: the step that made the output.
        folder: the folder of the output, relative to the root.
        content: what `Capability.read` returns.
    """

    name: str
    title: str
    step: str
    folder: str
    content: Any


def read_capabilities(record: RunRecord) -> list[CapabilitySection]:
    """The sections of a run; outputs that cannot be read are left out."""
    sections = []
    for capability in CAPABILITIES:
        for kind in capability.outputs:
            for step, folder in record.outputs(kind.__name__):
                try:
                    content = capability.read(kind(folder))
                except (OSError, ValueError, KeyError, TypeError, StopIteration):
                    continue
                place = folder.relative_to(record.root).as_posix()
                sections.append(CapabilitySection(capability.name, capability.title, step.name, place, content))
    return sections
