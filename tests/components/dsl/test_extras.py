"""What installs an extra: packages of an index, as the project itself may be on none."""

import shlex
import tomllib
from pathlib import Path

import pytest

from components.dsl.errors import install_command

EXTRAS = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["mlflow", "search", "s3", "gcs"])
def test_the_packages_of_an_extra_are_installed_by_their_names(extra: str) -> None:
    assert shlex.split(install_command(extra)) == ["pip", "install", *EXTRAS[extra]]
