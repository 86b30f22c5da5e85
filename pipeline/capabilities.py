"""The optional capabilities of a job, which plug-ins have."""

from collections.abc import Mapping
from typing import Any

import pydantic

from components.sources.shared import KeptColumns
from components.sources.table import TableSource
from keras_bert.core.plugins import find_plugins
from pipeline.capability import Capability
from pipeline.settings.schema import Settings

CAPABILITIES: tuple[Capability[Any], ...] = tuple(
    entry.load()() for _, entry in sorted(find_plugins("capabilities").items())
)

_FIELDS: dict[str, Any] = {
    capability.name: (capability.table | None, pydantic.Field(None, description=capability.purpose))
    for capability in CAPABILITIES
}
# The settings of a job file: a job's own tables, and one for each capability.
JobSettings = pydantic.create_model("JobSettings", __base__=Settings, __doc__=Settings.__doc__, **_FIELDS)
# Files of artifacts whose values are of no use to a reader.
UNLISTED_FILES = tuple(name for capability in CAPABILITIES for name in capability.unlisted_files)


def enabled_capabilities(settings: Settings) -> list[tuple[Capability[Any], Any]]:
    """The capabilities that a job has a table of, each with its table."""
    tables = ((capability, getattr(settings, capability.name, None)) for capability in CAPABILITIES)
    return [(capability, table) for capability, table in tables if table is not None]


def split_job(settings: Settings) -> Mapping[str, Settings]:
    """The jobs of one task that a job is made of, by name; most jobs are one, without a name."""
    jobs = (capability.split_job(table, settings) for capability, table in enabled_capabilities(settings))
    return next(filter(None, jobs), {"": settings})


def is_joint(settings: Settings) -> bool:
    """Whether a job has several tasks, which are trained together."""
    return "" not in split_job(settings)


def kept_columns(settings: Settings) -> KeptColumns:
    """The columns of the labelled tables that steps of a job read besides those of its task."""
    is_table = isinstance(settings.examples, TableSource)
    has_all = any(capability.keeps_columns for capability, _ in enabled_capabilities(settings))
    return KeptColumns(test=settings.evaluation.slice_columns if is_table else (), all_of_train=has_all)
