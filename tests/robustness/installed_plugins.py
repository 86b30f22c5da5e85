"""Whether a plug-in is there: the tests of the core also pass without it."""

import importlib.util


def is_installed(plugin: str) -> bool:
    """Whether `plugins.NAME` can be imported."""
    return bool(importlib.util.find_spec("plugins") and importlib.util.find_spec(f"plugins.{plugin}"))
