"""The project as a wheel, and environments that hold it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGES = tuple(name for name in ("keras_bert", "components", "pipeline", "plugins") if (REPOSITORY / name).is_dir())
_FILES = ("keras_bert_edge.py", "setup.py", "pyproject.toml", "README.md", "LICENSE")


def build_wheel(folder):
    """Builds the wheel from a copy, as building leaves files behind."""
    copy = folder / "source"
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _FILES:
        shutil.copy(REPOSITORY / name, copy / name)
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(copy))
    shutil.rmtree(copy)
    return next(folder.glob("keras_bert_edge-*.whl"))


def make_environment(folder, wheel):
    """Makes a virtual environment with the wheel and the libraries of this one; gives its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    programs = folder / "bin"
    pip(programs / "python", "install", "--no-deps", str(wheel))
    (site_packages(programs) / "libraries.pth").write_text(f"{_libraries()}\n")
    return programs


def site_packages(programs):
    """Where the libraries of an environment lie."""
    return next(programs.parent.glob("lib/*/site-packages"))


def pip(python, *arguments):
    """Runs this environment's pip for a Python that may have none."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-q", *arguments]
    subprocess.run(command, check=True)


def _libraries():
    """The folder of installed libraries, which need not be of this environment."""
    spec = importlib.util.find_spec("numpy")
    assert spec.origin is not None
    return Path(spec.origin).parents[1]
