"""Every module, on this version of Python."""

import importlib
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import components

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("keras_bert", "components", "pipeline", "plugins", "benchmarks", "tests")


def test_every_module_of_the_wheel_can_be_imported():
    names = {
        module.name
        for package in ("keras_bert", "components", "pipeline", "plugins")
        for module in pkgutil.walk_packages([str(REPOSITORY / package)], f"{package}.")
    }
    assert len(names) > 300
    for name in sorted(names):
        try:
            assert importlib.import_module(name).__name__ == name
        except ModuleNotFoundError as error:
            # Modules of plug-ins may need packages of others that are not installed.
            if not name.startswith("plugins.") or str(error.name).partition(".")[0] in PACKAGES:
                raise


# What an orchestrator imports, and programs that ask a file alone; the first of them may not even import NumPy.
LIGHT = (
    "keras_bert.export.targets.registry",
    "keras_bert.export.runtimes",
    "keras_bert.interop.hugging_face_config",
    *(f"components.{module.name}" for module in pkgutil.iter_modules(components.__path__) if not module.ispkg),
)
IMPORT = """
import importlib, sys
for place, name in enumerate(sys.argv[1:]):
    importlib.import_module(name)
    heavy = {"tensorflow", "keras", "onnx", "onnxruntime", *(["numpy"] if place == 0 else [])} & set(sys.modules)
    assert not heavy, (name, heavy)
"""


def test_steps_and_what_they_share_with_planning_import_no_heavy_library():
    subprocess.run([sys.executable, "-c", IMPORT, *LIGHT], check=True)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_source_is_deprecated(package):
    files = [*(REPOSITORY / package).rglob("*.py")]
    assert files or package == "plugins"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file in files:
            compile(file.read_bytes(), str(file), "exec")
