"""All formats by name."""

from benchmarks.damaged import data, models, runs
from benchmarks.damaged.format import Format

FORMATS: dict[str, Format] = {**data.FORMATS, **models.FORMATS, **runs.FORMATS}
