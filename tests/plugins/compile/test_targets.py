"""Jobs as files for orchestrators: each step one command, in the order of the pipeline, with its resources."""

import ast

import pytest
import yaml

from pipeline.cli import main
from pipeline.job.files import load_settings
from pipeline.machine import Machine, Need
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline
from plugins.compile.airflow import to_airflow
from plugins.compile.argo import to_argo
from plugins.compile.kubeflow import to_kubeflow
from plugins.compile.steps import CompileOptions, compile_steps, find_needs
from tests.pipeline.command_line import refused
from tests.pipeline.orchestrator.test_runner import chain
from tests.tiny_job import write_job

OPTIONS = CompileOptions(job_file="/jobs/toy.toml", overrides=(), root="/runs", image="image:1", claim="", gpus=0)


def compile_toy(target, machine=None, **options):
    job = compile_steps(Pipeline("My_toy.job", [chain("x")]), machine or Machine(), {}, OPTIONS._replace(**options))
    return {"kubeflow": to_kubeflow, "airflow": to_airflow, "argo": to_argo}[target](job)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return write_job(tmp_path_factory.mktemp("job"))


def write(job, target, *options):
    out = job.with_name(f"{target}.out")
    image = () if target == "airflow" else ("--image", "registry/bert:1")
    assert main(["compile", str(job), "--to", target, "--out", str(out), *image, *options]) == 0
    return out.read_text()


def test_kubeflow_has_a_container_a_step_and_a_volume(job, tmp_path):
    text = write(job, "kubeflow", "--seeds", "2", "--root", str(tmp_path), "--mount", "/runs", "--claim", "volume")
    spec, platform = yaml.safe_load_all(text)
    tasks = spec["root"]["dag"]["tasks"]
    settings = load_settings(job, ["seeds=2"])
    assert len(tasks) == len(build_pipeline(settings, tmp_path).nodes)
    assert {"fine-tune-0", "fine-tune-1"} <= tasks.keys(), "seeds are steps of their own"
    assert tasks["quantize-1"]["dependentTasks"] == ["distill-1", "ingest-examples"]
    container = spec["deploymentSpec"]["executors"]["exec-quantize-1"]["container"]
    assert container == {
        "image": "registry/bert:1",
        "command": [
            *("keras-bert-edge", "step", "quantize-1", str(job), "--set", "seeds=2", "--root", "/runs"),
            *("--run", "{{$.pipeline_job_uuid}}"),
        ],
    }
    (mount,) = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-push"]["pvcMount"]
    assert (mount["constant"], mount["mountPath"]) == ("volume", "/runs")


def test_argo_has_a_template_a_step(job, tmp_path):
    options = ("--set", "machine.retries=2", "--set", "machine.cores=3.0", "--set", "machine.memory_gigabytes=4.5")
    spec = yaml.safe_load(write(job, "argo", "--root", str(tmp_path), "--gpus", "1", *options))["spec"]
    templates = {template["name"]: template for template in spec["templates"]}
    names = {task["name"]: task.get("dependencies", []) for task in templates["job"]["dag"]["tasks"]}
    assert names["evaluate"] == ["ingest-examples", "fine-tune", "distill", "export-model", "pretrain"]
    limits = {"cpu": "3", "memory": "4.5G"}
    assert templates["evaluate"]["container"]["resources"] == {"requests": limits, "limits": limits}
    gpu = {**limits, "nvidia.com/gpu": "1"}
    assert templates["fine-tune"]["container"]["resources"]["limits"] == gpu, "a training"
    assert templates["ingest-corpus"]["retryStrategy"] == {"limit": "2", "retryPolicy": "OnError"}
    assert "volumes" not in spec


@pytest.mark.parametrize("image", ["", "image:1"])
def test_airflow_is_python_with_a_task_a_step(image):
    text = compile_toy("airflow", image=image, claim="volume", overrides=("x=it's",), job_file="/a b/run.sh")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    operator = "KubernetesPodOperator" if image else "BashOperator"
    tasks = [
        {keyword.arg: keyword.value for keyword in call.keywords}
        for call in calls
        if getattr(call.func, "id", "") == operator
    ]
    assert [ast.literal_eval(task["task_id"]) for task in tasks] == ["write", "initial", "shout"]
    if image:
        command = ast.literal_eval(tasks[2]["cmds"])
        assert command == ["keras-bert-edge", "step", "shout", "/a b/run.sh", "--set", "x=it's", "--root", "/runs"]
    else:
        command = ast.literal_eval(tasks[2]["bash_command"])
        assert command == """keras-bert-edge step shout '/a b/run.sh' --set 'x=it'"'"'s' --root /runs """
    assert "[step_initial] >> step_shout" in text
    assert '{"KERAS_BERT_EDGE_RUN": "{{ run_id }}"}' in text


def test_resources_come_from_earlier_runs(tmp_path):
    toy = Pipeline("toy", [chain("x")])
    run_pipeline(toy, tmp_path, preload=())
    assert "write" in find_needs(tmp_path, toy)
    assert find_needs(tmp_path, Pipeline("other", [chain("x")])) == {}
    assert find_needs(tmp_path / "none", toy) == {}
    needs = {"write": Need(cores=2.6, memory=2.01e9)}
    steps = compile_steps(Pipeline("toy", [chain("x")]), Machine(cores=8.0), needs, OPTIONS).steps
    assert [tuple(step.resources) for step in steps] == [(3, 3.1, 0), (8, None, 0), (8, None, 0)]


def test_steps_in_containers_are_started_by_no_program():
    machine = Machine(launch=("srun",), python="/opt/python")
    (container,) = {
        tuple(executor["container"]["command"][3:-4])
        for executor in yaml.safe_load(compile_toy("kubeflow", machine))["deploymentSpec"]["executors"].values()
    }
    assert container == ("/jobs/toy.toml", "--set", "machine.launch=[]", "--set", 'machine.python=""')


def test_names_are_those_of_kubernetes():
    assert yaml.safe_load(compile_toy("kubeflow"))["pipelineInfo"]["name"] == "my-toy-job"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "argoo"), "--to must be one of kubeflow, airflow, argo, got 'argoo'; did you mean 'argo'?"),
        (("--to", "kubeflow"), "--image must be set for kubeflow, which runs steps in containers alone"),
        (
            ("--to", "argo", "--image", "x", "--mount", "/{{a}}"),
            "--root must hold no braces that orchestrators replace, got '/{{a}}'",
        ),
        (
            ("--to", "airflow", "--mount", "/r{#x#}oot"),
            "--root must hold no braces that orchestrators replace, got '/r{#x#}oot'",
        ),
        (("--to", "airflow", "--out", "/none/x"), "--out must be in a folder that exists, got /none/x"),
    ],
)
def test_refuses_targets_and_names(job, tmp_path, capfd, arguments, message):
    out = tmp_path / "out"
    assert refused(capfd, "compile", job, "--out", out, "--root", tmp_path / "root", *arguments) == message
    assert not out.exists()
