"""All formats by name."""

from tests.robustness.corruption import model_files, pipeline_files, user_files
from tests.robustness.corruption.format import Format

FORMATS: dict[str, Format] = {**user_files.FORMATS, **model_files.FORMATS, **pipeline_files.FORMATS}
