"""The packages of optional parts of this project."""

import importlib.metadata
import shlex

_DISTRIBUTION = "keras-bert-edge"


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, by the names that the installed distribution requires.

    They are on every index; the project may have been installed from a clone or a wheel, where pip would not find it.
    """
    requirements = importlib.metadata.requires(_DISTRIBUTION) or ()
    packages = [line.partition(";")[0].strip() for line in requirements if line.endswith(f'extra == "{extra}"')]
    return f"pip install {shlex.join(packages)}"
