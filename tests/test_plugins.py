"""Plug-ins: every entry point has its object, none needs another, and the core runs without the folder."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from keras_bert.core.plugins import find_plugins
from tests.tiny_job import without, write_job

REPOSITORY = Path(__file__).parents[1]
# Every module of the core can be imported; the plain job is planned; tables of plug-ins are unknown.
IMPORT_AND_PLAN = """
import importlib, pkgutil, sys
from pathlib import Path

for package in ("keras_bert", "components", "pipeline"):
    for module in pkgutil.walk_packages([package], f"{package}."):
        importlib.import_module(module.name)

from components.dsl.errors import InputError
from pipeline.job.files import load_settings
from pipeline.job.checks import check_data
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.pipelines import build_pipeline

job, root, *tables = map(Path, sys.argv[1:])
settings = load_settings(job)
check_data(settings)
print(*preview(build_pipeline(settings, root), root, Request()))
for table in tables:
    try:
        load_settings(job, [f"{table}.key=1"])
    except InputError as error:
        print(error)
"""
NAMES = sorted(path.parent.name for path in (REPOSITORY / "plugins").glob("*/__init__.py"))
ENTRIES = [
    entry
    for entry in importlib.metadata.distribution("keras-bert-edge").entry_points
    if entry.group.startswith("keras_bert_edge.") and NAMES
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.group}-{entry.name}")
def test_every_entry_point_has_its_object(entry):
    thing = entry.load()
    assert callable(thing) or (entry.group.endswith(".family_formats") and isinstance(thing, tuple))


@pytest.mark.parametrize("name", NAMES)
def test_a_plug_in_has_an_entry_point_and_a_page_and_needs_no_other(name):
    assert any(entry.module.startswith(f"plugins.{name}.") for entry in ENTRIES)
    assert (REPOSITORY / "plugins" / name / "README.md").is_file()
    graph = grimp.build_graph("plugins")
    modules = graph.find_descendants(f"plugins.{name}")
    imported = set[str]().union(*map(graph.find_modules_directly_imported_by, modules))
    assert imported <= {f"plugins.{name}", *modules}


def test_a_plug_in_whose_folder_is_gone_is_not_installed(monkeypatch):
    values = {"there": "tests.tiny_job:write_job", "gone": "tests.gone.tool:run", "away": "no_package.of.mine:run"}
    entries = [importlib.metadata.EntryPoint(name, value, "group") for name, value in values.items()]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries)
    assert list(find_plugins("tools")) == ["there"]


@pytest.mark.parametrize("package", ["keras_bert", "components", "pipeline"])
def test_tests_of_the_core_import_no_plug_in(package):
    imports = re.compile(r"^ *(?:from|import) (?:tests\.)?plugins\b", re.MULTILINE)
    files = (REPOSITORY / "tests" / package).rglob("*.py")
    assert [file.name for file in files if imports.search(file.read_text())] == []


def run_without_plugins(folder, *arguments):
    """What Python prints where neither it nor its child processes find the folder of plug-ins."""
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['plugins'] = None\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(REPOSITORY)))}
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_plug_ins_every_module_is_imported_and_the_plain_job_is_planned(tmp_path):
    job = write_job(tmp_path / "job")
    tables = [entry.name for entry in ENTRIES if entry.group == "keras_bert_edge.capabilities"]
    output = run_without_plugins(tmp_path, "-c", IMPORT_AND_PLAN, str(job), str(tmp_path / "root"), *tables)
    for step in ("pretrain", "fine_tune", "distill", "quantize", "export_model", "evaluate", "push"):
        assert step in output
    assert all(f"there is no setting {table!r}" in output for table in tables)


@pytest.mark.long
def test_without_plug_ins_the_plain_job_runs(tmp_path):
    job = write_job(tmp_path / "job")
    job.write_text(without("student", "distillation", "quantization"))
    output = run_without_plugins(tmp_path, "-m", "pipeline", "run", str(job), "--root", str(tmp_path / "root"))
    assert "pushed: " in output
