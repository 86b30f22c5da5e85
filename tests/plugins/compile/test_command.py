"""`compile` on the command line, for a root in object storage."""

import pytest
import yaml

from components.objects.mirror import CACHE_VARIABLE
from pipeline.cli import main
from pipeline.job.files import load_settings
from pipeline.orchestrator.opening import find_remote_roots
from plugins.compile.steps import hub_overrides
from tests.hub import hub
from tests.pipeline.orchestrator.stand_in_roots import StandInRoots, register_roots

__all__ = ["hub"]

ADDRESS = "memory://bucket/root"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A root in object storage."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    register_roots(monkeypatch, StandInRoots)
    return find_remote_roots(ADDRESS).open_mirror(ADDRESS)


def compile_job(out, root, *options):
    return main(["compile", "--to", "argo", "--image", "bert:1", "--out", str(out), "--root", str(root), *options])


def test_steps_of_a_root_in_object_storage_have_its_address(mirror, tmp_path, capsys):
    assert compile_job(tmp_path / "job.yaml", mirror) == 0
    _, *templates = yaml.safe_load((tmp_path / "job.yaml").read_text())["spec"]["templates"]
    for template in templates:
        arguments = template["container"]["args"]
        assert arguments[arguments.index("--root") + 1] == ADDRESS
        assert "volumeMounts" not in template["container"]
    assert f"resources from earlier runs in {ADDRESS}" in "".join(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("option", ["--mount", "--claim"])
def test_volumes_are_refused_for_a_root_in_object_storage(mirror, tmp_path, capsys, option):
    assert compile_job(tmp_path / "job.yaml", mirror, option, "runs") == 2
    assert f"{option} must be left out with a root in object storage" in capsys.readouterr().err
    assert not (tmp_path / "job.yaml").exists()


def test_addresses_on_the_hub_are_pinned_to_commits(tmp_path, hub):
    repositories = [hub.add(name, {"README.md": b""}) for name in ("ann/bert", "datasets/ann/rows")]
    commits = [repository.branches["main"] for repository in repositories]
    job = tmp_path / "job.toml"
    job.write_text("checkpoint.path = 'hf://ann/bert'\nexamples.train = 'hf://datasets/ann/rows/*.csv'\n")
    assert hub_overrides(load_settings(job)) == [
        f"checkpoint.path=hf://ann/bert@{commits[0]}",
        f"examples.train=hf://datasets/ann/rows@{commits[1]}/*.csv",
    ]
