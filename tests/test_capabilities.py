"""Each optional capability: nothing outside of its folders imports it, and a job without it runs without its files."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from pipeline.capabilities import CAPABILITIES
from tests.tiny_job import without, write_job

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("keras_bert", "components", "pipeline")
REGISTRY = "pipeline.capabilities"
NAMES = [capability.name for capability in CAPABILITIES]
GRAPH = grimp.build_graph(*PACKAGES)

# Every module of the pipeline, and every step, can be imported; the plain job is planned; the table is unknown.
IMPORT_AND_PLAN = """
import contextlib, importlib, pkgutil, sys
from pathlib import Path

steps = pkgutil.iter_modules(["components"], "components.")
for module in (*steps, *pkgutil.walk_packages(["pipeline"], "pipeline.")):
    importlib.import_module(module.name)
assert Path(sys.modules["pipeline"].__file__).is_relative_to(Path.cwd())

from components.dsl.errors import InputError
from pipeline.job.files import load_settings
from pipeline.job.checks import check_data
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.pipelines import build_pipeline

name, job, root = sys.argv[1], *map(Path, sys.argv[2:])
settings = load_settings(job)
check_data(settings)
print(*preview(build_pipeline(settings, root), root, Request()))
try:
    load_settings(job, [f"{name}.key=1"])
except InputError as error:
    print(error)
"""


def modules_of(name: str) -> set[str]:
    """The modules of a capability: those in its folders, and the steps that only its folder of the pipeline imports."""
    folders = {f"{package}.{name}" for package in PACKAGES} & GRAPH.modules
    modules = folders.union(*map(GRAPH.find_descendants, folders))
    of_pipeline = {module for module in modules if module.startswith("pipeline.")}
    steps = {step for step in GRAPH.find_children("components") if not GRAPH.find_children(step)}
    users = {step: GRAPH.find_modules_that_directly_import(step) for step in steps}
    return modules | {step for step in steps if users[step] and users[step] <= of_pipeline}


@pytest.mark.parametrize("name", NAMES)
def test_only_the_registry_imports_a_capability(name: str) -> None:
    modules = modules_of(name)
    for module in modules:
        assert GRAPH.find_modules_that_directly_import(module) - modules <= {REGISTRY}, module
    assert f"pipeline.{name}.capability" in GRAPH.find_modules_directly_imported_by(REGISTRY)


def copy_without(name: str, place: Path) -> None:
    """Copies the packages without the files of a capability, and without its lines in the registry."""
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, place / package)
    shutil.copy(REPOSITORY / "keras_bert_edge.py", place)
    for module in modules_of(name):
        folder = place.joinpath(*module.split("."))
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".py").unlink(missing_ok=True)
    file = place.joinpath(*REGISTRY.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text())
    imports = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    (line,) = (line for line in imports if line.module == f"pipeline.{name}.capability")
    tree.body.remove(line)
    assignments = [line for line in tree.body if isinstance(line, ast.AnnAssign)]
    (entries,) = (line.value for line in assignments if line.target.id == "CAPABILITIES")
    (entry,) = (entry for entry in entries.elts if entry.func.id == line.names[0].name)
    entries.elts.remove(entry)
    file.write_text(ast.unparse(tree))


def run(place: Path, *arguments: str) -> str:
    command, environment = [sys.executable, "-W", "ignore", *arguments], {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_without_a_capability_the_plain_job_is_planned(name: str, tmp_path: Path) -> None:
    copy_without(name, tmp_path / "copy")
    job = write_job(tmp_path / "job")
    output = run(tmp_path / "copy", "-c", IMPORT_AND_PLAN, name, str(job), str(tmp_path / "root"))
    for step in ("pretrain", "fine_tune", "distill", "quantize", "export_model", "evaluate", "push"):
        assert step in output
    assert f"there is no setting {name!r}" in output


@pytest.mark.long
def test_without_label_errors_the_plain_job_runs(tmp_path: Path) -> None:
    copy_without("label_errors", tmp_path / "copy")
    job = write_job(tmp_path / "job")
    job.write_text(without("student", "distillation", "quantization"))
    output = run(tmp_path / "copy", "-m", "keras_bert_edge", "run", str(job), "--root", str(tmp_path / "root"))
    assert "pushed: " in output
