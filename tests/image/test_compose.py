"""The file for Compose names files that are there, and by default the folder that it is started in."""

import re
from pathlib import Path

import yaml

FILE = Path(__file__).parents[2] / "deploy" / "compose.yaml"


def test_image_is_built_from_the_dockerfile():
    build = yaml.safe_load(FILE.read_text())["services"]["job"]["build"]
    # Compose looks for both paths from the folder of its file; the Dockerfile's from there.
    context = FILE.parent / build["context"]
    assert (context / build["dockerfile"]).is_file()
    assert (context / "pyproject.toml").is_file()


def test_volumes_are_of_the_current_folder():
    for service in yaml.safe_load(FILE.read_text())["services"].values():
        defaults = [re.sub(r"\$\{\w+:-(.*)\}:", r"\1:", volume) for volume in service["volumes"]]
        assert defaults == ["${PWD}:/jobs:ro", "${PWD}/runs:/runs"]
