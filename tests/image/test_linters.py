"""Linters of the Dockerfile and of the files for Compose and Kubernetes; each finds an error that is planted."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.image
RULES = "{extends: default, rules: {line-length: {max: 120}, document-start: disable}}"


def lint(program, *arguments):
    """Status and output of a linter."""
    folder = os.environ.get("LINTERS")
    assert folder, "LINTERS must name a folder of programs; make test-image sets it"
    command = [str(REPOSITORY / folder / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def changed(file, folder, old, new):
    """A copy of a file with an error."""
    text = (REPOSITORY / file).read_text()
    assert old in text
    copy = folder / Path(file).name
    copy.write_text(text.replace(old, new, 1))
    return copy


def test_dockerfile(tmp_path):
    assert lint("hadolint", REPOSITORY / "deploy/Dockerfile") == (0, "")
    status, output = lint("hadolint", changed("deploy/Dockerfile", tmp_path, "WORKDIR /tmp", "WORKDIR tmp"))
    assert status == 1
    assert "DL3000" in output


def test_compose_file(tmp_path):
    schema = ("--builtin-schema", "vendor.compose-spec")
    assert lint("check-jsonschema", *schema, REPOSITORY / "deploy/compose.yaml")[0] == 0
    assert lint("check-jsonschema", *schema, changed("deploy/compose.yaml", tmp_path, "ports:", "port:"))[0] == 1


def test_kubernetes_file(tmp_path):
    assert lint("kubernetes-validate", "--strict", REPOSITORY / "deploy/kubernetes.yaml")[0] == 0
    broken = changed("deploy/kubernetes.yaml", tmp_path, "backoffLimit: 2", "backoffLimits: 2")
    assert lint("kubernetes-validate", "--strict", broken)[0] != 0


@pytest.mark.parametrize("name", ["compose", "kubernetes"])
def test_yaml(tmp_path, name):
    assert lint("yamllint", "--strict", "-d", RULES, REPOSITORY / f"deploy/{name}.yaml") == (0, "")
    broken = changed(f"deploy/{name}.yaml", tmp_path, "name:", "name:  ")
    assert lint("yamllint", "--strict", "-d", RULES, broken)[0] == 1
