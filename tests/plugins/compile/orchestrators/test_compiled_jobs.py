"""A compiled job in orchestrators of others makes the artifacts of `run`."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.robustness.crash.root_digests import untimed_results
from tests.tiny_job import write_job

pytestmark = pytest.mark.orchestrators
RUNNER = Path(__file__).with_name("run_kubeflow.py")
SECONDS = 1200


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return write_job(tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def expected(job, tmp_path_factory):
    """The results of the job by one command."""
    root = tmp_path_factory.mktemp("plain") / "root"
    subprocess.run([sys.executable, "-m", "keras_bert_edge", "run", str(job), "--root", str(root)], check=True)
    return untimed_results(root)


def program(variable):
    """The program that an environment variable names."""
    name = os.environ.get(variable)
    assert name, f"{variable} must name a program; make test-compile sets it"
    return os.path.abspath(name)


def environment(**variables):
    """The environment of an orchestrator whose steps find the command of this project."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **variables}


def compile_job(job, target, out, root, *options):
    assert main(["compile", str(job), "--to", target, "--out", str(out), "--root", str(root), *options]) == 0


def check(root, expected):
    """Compares the results, and the only run that is recorded."""
    assert untimed_results(root) == expected
    assert (root / "pushed" / "tiny" / "1" / "model.tflite").is_file()
    with contextlib.closing(Store(root, create=False)) as store:
        (run,) = store.runs()
        assert run.state == "done"
        assert run.invocation
        executions = store.executions(run.id)
        assert {execution.state for execution in executions} == {"ran"}
        assert {execution.node for execution in executions} == store.plan(run.id).keys()


def test_kubeflow(job, expected, tmp_path):
    file, root = tmp_path / "job.yaml", tmp_path / "root"
    compile_job(job, "kubeflow", file, root, "--image", "python", "--claim", "runs")
    command = [program("KUBEFLOW_PYTHON"), str(RUNNER), str(file), str(tmp_path / "outputs")]
    done = subprocess.run(
        command, env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check(root, expected)


def test_airflow(job, expected, tmp_path):
    home, root = tmp_path / "home", tmp_path / "root"
    (home / "dags").mkdir(parents=True)
    compile_job(job, "airflow", home / "dags" / "tiny.py", root)
    compile_job(
        job, "airflow", home / "dags" / "pods.py", root, "--image", "image:1", "--claim", "runs", "--set", "name=p"
    )
    variables = environment(AIRFLOW_HOME=str(home), AIRFLOW__CORE__LOAD_EXAMPLES="False")
    airflow = [program("AIRFLOW_PYTHON"), "-m", "airflow"]

    def call(*arguments):
        done = subprocess.run(
            [*airflow, *arguments],
            env=variables,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call("db", "migrate")
    assert "No data found" in call("dags", "list-import-errors"), "files with pods are read, too"
    call("dags", "test", "tiny")
    check(root, expected)


@pytest.mark.parametrize("options", [(), ("--claim", "runs", "--gpus", "1", "--set", "machine.retries=2")])
def test_argos_linter(job, tmp_path, options):
    argo = program("ARGO")
    file = tmp_path / "job.yaml"
    compile_job(job, "argo", file, tmp_path / "root", "--image", "image:1", "--seeds", "2", *options)
    lint = [argo, "lint", "--offline", "--kinds=workflows"]
    done = subprocess.run([*lint, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yaml"
    shutil.copy(file, broken)
    broken.write_text(file.read_text().replace("template: pretrain", "template: pretrian"))
    assert subprocess.run([*lint, str(broken)], capture_output=True, check=False).returncode != 0
