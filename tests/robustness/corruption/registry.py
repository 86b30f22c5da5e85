"""All formats by name: of the core, and of the plug-ins that are installed, in `tests/plugins/NAME/formats.py`."""

import importlib
from pathlib import Path

from tests.robustness.corruption import model_files, pipeline_files, user_files
from tests.robustness.corruption.format import Format
from tests.robustness.installed_plugins import is_installed

_PLUGIN_TESTS = Path(__file__).parents[2] / "plugins"

FORMATS: dict[str, Format] = {**user_files.FORMATS, **model_files.FORMATS, **pipeline_files.FORMATS}
for _module in sorted(_PLUGIN_TESTS.glob("*/formats.py")):
    if is_installed(_module.parent.name):
        FORMATS |= importlib.import_module(f"tests.plugins.{_module.parent.name}.formats").FORMATS
