"""What installs an extra: packages of an index, as the project itself may be on none."""

import shlex
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from components.dsl.errors import install_command

EXTRAS = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["mlflow", "search", "s3", "gcs"])
def test_the_packages_of_an_extra_are_installed_by_their_names(extra: str) -> None:
    assert shlex.split(install_command(extra)) == ["pip", "install", *EXTRAS[extra]]


@pytest.mark.parametrize(
    ("system", "processor", "left_out"),
    [
        ("linux", "x86_64", set()),
        ("linux", "aarch64", {"coremltools", "onnxruntime-qnn", "tflite-micro"}),
        ("darwin", "arm64", {"onnxruntime-qnn", "tflite-micro"}),
    ],
)
def test_packages_of_other_systems_are_left_out(monkeypatch, system: str, processor: str, left_out: set[str]) -> None:
    environment = {**default_environment(), "sys_platform": system, "platform_machine": processor}
    monkeypatch.setattr("packaging.markers.default_environment", lambda: dict(environment))
    packages = shlex.split(install_command("accelerators"))
    assert packages[:2] == ["pip", "install"]
    expected = {Requirement(line) for line in EXTRAS["accelerators"]}
    assert {requirement.name for requirement in expected} > left_out
    assert sorted(packages[2:]) == sorted(
        f"{requirement.name}{requirement.specifier}" for requirement in expected if requirement.name not in left_out
    )


def test_packages_of_every_installation_are_left_out(monkeypatch) -> None:
    lines = ["numpy>=2.0", "uvloop; sys_platform != 'win32'", 'tool>=1; python_version >= "3" and extra == "a"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: lines)
    assert install_command("a") == "pip install 'tool>=1'"
