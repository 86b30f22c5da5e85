"""A job in two processes of this machine that train together, through the command line."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.processes import free_ports
from tests.robustness.crash.process import kill_tree
from tests.tiny_job import SETTINGS, write_job

pytestmark = pytest.mark.workers

SECONDS = 600
# Batches of one part for each process; dropout is on, as by default; a worker that is lost is waited for.
JOB = SETTINGS.replace('precision = "float32"', 'precision = "float32"\nbatch_size = 8') + "[machine]\nretries = 3\n"
STEPS = ["pretrain", "fine_tune"]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    file = write_job(folder)
    file.write_text(JOB)
    return file


@pytest.fixture(scope="module")
def undisturbed(job):
    """The root of a run that nothing has happened to."""
    root = job.parent / "undisturbed"
    with cluster(job, root) as (chief, worker):
        assert [chief.wait(SECONDS), worker.wait(SECONDS)] == [0, 0]
    return root


def start(job, root, ports, index, *more):
    """A process of the cluster; all of them run the same command."""
    addresses = [f"localhost:{port}" for port in ports]
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    command = [sys.executable, "-m", "pipeline", "run", str(job), "--root", str(root), "--to", "fine_tune", *more]
    with log(root, index).open("ab") as stream:
        environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
        return subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, start_new_session=True)


def log(root, index):
    return root.with_name(f"{root.name}.{index}.log")


class Processes(list[subprocess.Popen[bytes]]):
    """The processes of a cluster: chief, worker, and those that were started instead of one."""

    def __init__(self, job, root):
        self._job, self._root, self._ports = job, root, free_ports(2)
        super().__init__(start(job, root, self._ports, index) for index in range(2))

    def restart(self, index):
        self.append(start(self._job, self._root, self._ports, index))
        return self[-1]


@contextlib.contextmanager
def cluster(job, root):
    """A chief and a worker; at the end none of their processes runs."""
    processes = Processes(job, root)
    try:
        yield processes
    finally:
        for process in processes:
            kill_tree(process.pid)


def wait_until(holds):
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def fingerprints(root):
    digests = {}
    for step in STEPS:
        (manifest,) = (root / "artifacts" / step).glob("model-*/manifest.json")
        digests[step] = json.loads(manifest.read_text())["fingerprint"]
    return digests


def is_training(root, step):
    """Whether a training has made steps."""
    return any(file.stat().st_size for file in (root / "logs").glob(f"*/{step}/seed-*/history.jsonl"))


def test_the_chief_alone_publishes(undisturbed):
    assert fingerprints(undisturbed).keys() == set(STEPS)
    text = log(undisturbed, 1).read_text()
    assert "fine_tune: done" in text
    assert "the run of the chief" in text
    assert "ingest_corpus" not in text
    assert "trainings run on 2 processes" in log(undisturbed, 0).read_text()
    assert not any((undisturbed / ".unfinished").glob("*"))


def test_a_killed_worker_comes_back(job, undisturbed):
    root = job.parent / "worker-killed"
    with cluster(job, root) as processes:
        wait_until(lambda: is_training(root, "fine_tune"))
        kill_tree(processes[1].pid)
        assert processes[1].wait() == -signal.SIGKILL
        worker = processes.restart(1)
        assert [processes[0].wait(SECONDS), worker.wait(SECONDS)] == [0, 0]
    assert "it is tried again" in log(root, 0).read_text()
    assert fingerprints(root) == fingerprints(undisturbed)


def test_a_killed_chief_comes_back(job, undisturbed):
    root = job.parent / "chief-killed"
    with cluster(job, root) as processes:
        wait_until(lambda: is_training(root, "pretrain"))
        kill_tree(processes[0].pid)
        chief = processes.restart(0)
        assert [chief.wait(SECONDS), processes[1].wait(SECONDS)] == [0, 0]
    assert fingerprints(root) == fingerprints(undisturbed)


def test_one_process_goes_on_with_what_two_began(job):
    root = job.parent / "elastic"
    with cluster(job, root) as processes:
        wait_until(lambda: is_training(root, "fine_tune"))
        processes[0].send_signal(signal.SIGTERM)  # a checkpoint
        assert processes[0].wait(SECONDS) == 130
        assert processes[1].wait(SECONDS) == 1
    command = [sys.executable, "-m", "pipeline", "run", str(job), "--root", str(root), "--to", "fine_tune"]
    subprocess.run(command, check=True, timeout=SECONDS)
    text = max(root.glob("logs/*/fine_tune.log"), key=lambda file: int(file.parent.name)).read_text()
    assert "going on after step" in text
    assert "devices: 1, were 2" in text


def test_a_worker_that_never_comes_is_one_line(job):
    root = job.parent / "lonely"
    ports = free_ports(2)
    chief = start(job, root, ports, 0, "--set", "machine.join_seconds=3")
    assert chief.wait(SECONDS) == 2
    (line,) = [line for line in log(root, 0).read_text().splitlines() if line.startswith("error")]
    assert f"worker 1 (localhost:{ports[1]}) did not come within 3 s (machine.join_seconds)" in line


def test_a_chief_that_never_comes_is_one_line(job):
    root = job.parent / "headless"
    ports = free_ports(2)
    assert start(job, root, ports, 1, "--set", "machine.join_seconds=3").wait(SECONDS) == 2
    (line,) = [line for line in log(root, 1).read_text().splitlines() if line.startswith("error")]
    assert f"the chief (localhost:{ports[0]}) gave no sign under {root} for 3 s" in line
    assert not root.exists()


@pytest.mark.parametrize("index", [0, 1])
def test_a_port_in_use_is_one_line(job, index):
    root = job.parent / f"taken-{index}"
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        ports = free_ports(2)
        ports[index] = other.getsockname()[1]
        assert start(job, root, ports, index).wait(SECONDS) == 2
    (line,) = [line for line in log(root, index).read_text().splitlines() if line.startswith("error")]
    assert f"must name a free port of this machine for this process, got 'localhost:{ports[index]}'" in line
