"""A chief and a worker of this process, with steps that need no library; trainings are tests/pipeline/workers'."""

import json
import threading
from pathlib import Path

import pytest

from components.dsl.component import Output, component
from components.dsl.errors import InputError
from keras_bert.training.cluster import TF_CONFIG, Cluster
from pipeline.machine import Machine
from pipeline.orchestrator import joining
from pipeline.orchestrator.arguments import encode_argument
from pipeline.orchestrator.chief import JoinRequest
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.joining import join_trainings
from pipeline.orchestrator.runner import run_pipeline
from tests.pipeline.orchestrator import toy
from tests.processes import free_ports


@component()
def see_alone(text: Output[toy.Text]) -> None:
    import os

    text.write(str("TF_CONFIG" in os.environ))


@component(distributed=True)
def see_together(text: Output[toy.Text]) -> None:
    import os

    text.write(str("TF_CONFIG" in os.environ))


@pytest.fixture
def cluster(monkeypatch):
    addresses = tuple(f"localhost:{port}" for port in free_ports(2))
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv(TF_CONFIG, json.dumps({"cluster": {"worker": addresses}, "task": task}))
    return Cluster(addresses, 1)


def lead(root):
    outputs = [node() for node in (see_alone, see_together)]
    return run_pipeline(Pipeline("toy", outputs), root, machine=Machine(join_seconds=20.0), preload=())


def joined(root, cluster, lines):
    thread = threading.Thread(target=lambda: lines.append(str(join_trainings(root, cluster, 20.0, lines.append))))
    thread.start()
    return thread


def test_all_processes_run_a_training_and_the_chief_alone_the_rest(tmp_path, cluster):
    lines = []
    thread = joined(tmp_path / "root", cluster, lines)
    result = lead(tmp_path / "root")
    thread.join()
    assert result.state == "done"
    assert [result.step(name).outputs["text"].read() for name in ("see_alone", "see_together")] == ["False", "True"]
    assert "see_together: trains with 2 processes" in lines
    assert not any(line.startswith("see_alone") for line in lines)
    assert lines[-2:] == [f"the run of the chief ({cluster.addresses[0]}) has ended: done", "True"]


def test_a_worker_with_other_code_is_one_line(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(joining, "find_difference", lambda *given: "other code of keras-bert-edge")
    lines = []
    thread = joined(tmp_path / "root", cluster, lines)
    with pytest.raises(InputError) as error:
        lead(tmp_path / "root")
    thread.join()
    rule = "see_together must have the versions that the chief has, got other code of keras-bert-edge"
    assert str(error.value) == f"worker 1 ({cluster.addresses[1]}): {rule}; install the same wheel"
    assert lines[-1] == "False"


@pytest.mark.parametrize(
    "changed",
    [{"name": "../../step"}, {"run": "/tmp"}, {"checkpoints": "/outside"}, {"arguments": {"text": "../outside"}}],
)
def test_a_request_whose_paths_lead_out_of_the_root_is_not_trained(tmp_path, cluster, changed):
    fields = {"name": "step", "run": 1, "arguments": {"text": "text"}, "checkpoints": ".unfinished/step", **changed}
    fields["arguments"] = {name: encode_argument(toy.Text(Path(path))) for name, path in fields["arguments"].items()}
    component = (see_together.module, see_together.name)
    request = JoinRequest(component=component, versions={}, first_party=(), **fields)
    worker = joining._Worker(tmp_path, cluster, 20.0, lambda line: None)
    with pytest.raises(InputError, match=r"must lead nowhere else, got '.*'; use another root"):
        worker._train(request, "1")
    assert list(tmp_path.iterdir()) == []


def test_other_commands_have_no_workers(tmp_path, cluster, monkeypatch):
    task = {"type": "worker", "index": 1}
    monkeypatch.setenv(TF_CONFIG, json.dumps({"cluster": {"worker": cluster.addresses}, "task": task}))
    with pytest.raises(InputError, match="must be the chief for this command"):
        lead(tmp_path / "root")
