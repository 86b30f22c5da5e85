"""A job whose steps `srun` starts: nodes are drained and fail, steps are cancelled, and the results are the same."""

import subprocess
import sys
import time

import pytest

from tests.robustness.crash.root_digests import untimed_results
from tests.slurm.cluster import SlurmCluster, missing_programs
from tests.tiny_job import write_job

MISSING = missing_programs()
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(MISSING), reason=f"needs Slurm and munge (Debian's slurmctld, slurmd, munge): {MISSING}"),
]
COMMAND = (sys.executable, "-m", "keras_bert_edge")
SLURM = """
extends = "tiny.toml"
[machine]
retries = 3
[machine.launch]
data = ["srun", "--quiet", "-n1", "-c1"]
training = ["srun", "--quiet", "-n1", "-c2"]
measurement = ["srun", "--quiet", "-n1", "--exclusive"]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The folder of the job's files, with `tiny.toml` and `slurm.toml`."""
    folder = tmp_path_factory.mktemp("job")
    write_job(folder)
    (folder / "slurm.toml").write_text(SLURM)
    return folder


@pytest.fixture(scope="module")
def expected(job, tmp_path_factory):
    """The results of the job without Slurm."""
    root = tmp_path_factory.mktemp("plain") / "root"
    subprocess.run([*COMMAND, "run", str(job / "tiny.toml"), "--root", str(root)], check=True)
    return untimed_results(root)


class Running:
    """A job that was started in the background."""

    def __init__(self, cluster, job, root):
        self.cluster, self.root, self.output = cluster, root, root.with_name("output")
        with self.output.open("w") as output:
            command = [*COMMAND, "run", str(job / "slurm.toml"), "--root", str(root)]
            self.process = subprocess.Popen(command, env=cluster.environment, stdout=output, stderr=output)

    def wait_for(self, step):
        """The Slurm job of a step in the middle of its work: number, state, node."""
        log = self.root / "logs" / "1" / f"{step}.log"
        self.cluster.wait_until(
            lambda: log.exists() or self.process.poll() is not None, f"{step} starts: {self.output.read_text()}"
        )
        job = self.cluster.running_job()
        time.sleep(1.5)
        return job

    def end(self):
        """The output, after the run has ended well."""
        assert self.process.wait(300) == 0, self.output.read_text()
        return self.output.read_text()


def test_a_job_goes_on_after_drained_nodes_failed_nodes_and_cancelled_steps(cluster, job, expected, tmp_path):
    running = Running(cluster, job, tmp_path / "root")
    drained, _, node = running.wait_for("pretrain")
    cluster.set_state(node, "drain")
    cancelled, _, other = running.wait_for("fine_tune")
    assert other != node, "a drained node takes no new steps"
    cluster.call("scancel", cancelled)
    running.cluster.wait_until(lambda: (tmp_path / "root/logs/1/fine_tune.1.log").exists(), "the step is tried again")
    failed, _, _ = running.wait_for("distill")
    cluster.resume()
    cluster.set_state(other, "down")
    output = running.end()
    cluster.resume()
    states = cluster.ended_jobs()
    assert states[drained] == ("COMPLETED", node), "what runs on a drained node comes to its end"
    assert states[cancelled][0] == "CANCELLED"
    assert states[failed][0] in ("NODE_FAIL", "CANCELLED", "FAILED")
    assert "fine_tune: " in output
    assert output.count("it is tried again in") == 2, output
    assert untimed_results(tmp_path / "root") == expected


def test_ctrl_c_leaves_no_step_in_the_queue(cluster, job, tmp_path):
    running = Running(cluster, job, tmp_path / "root")
    running.wait_for("ingest_corpus")
    running.process.terminate()
    assert running.process.wait(60) == 130
    cluster.wait_until(lambda: not cluster.jobs(), "the queue is empty")
    assert not (tmp_path / "root" / ".staging").exists()


def test_a_step_ends_when_its_launcher_was_killed(cluster, job, tmp_path):
    running = Running(cluster, job, tmp_path / "root")
    running.wait_for("ingest_corpus")
    running.process.kill()
    running.process.wait()
    # srun itself lives on; the step notices that the beats stay away.
    cluster.wait_until(lambda: not cluster.jobs(), "the queue is empty")


def test_a_launcher_that_is_requeued_goes_on(cluster, job, expected, tmp_path):
    root, output = tmp_path / "root", tmp_path / "output"
    script = tmp_path / "script"
    command = " ".join([*COMMAND, "run", str(job / "slurm.toml"), "--root", str(root), "--to", "fine_tune"])
    # Within the job, srun starts steps in its allocation, beside the launcher.
    script.write_text(f"#!/bin/sh\nexport SLURM_OVERLAP=1\nexec {command} --set machine.launch='{_OVERLAP}'\n")
    number = cluster.call("sbatch", "--parsable", "--requeue", "-n1", "-c2", f"--output={output}", str(script))
    cluster.wait_until((root / "logs" / "1" / "pretrain.log").exists, "pretrain starts")
    time.sleep(2)
    cluster.call("scontrol", "requeue", number)
    cluster.wait_until(lambda: (root / "logs" / "2").exists(), "the job starts again")
    deadline = time.monotonic() + 180
    while cluster.ended_jobs()[number][0] in ("RUNNING", "PENDING", "COMPLETING"):
        assert time.monotonic() < deadline, output.read_text()
        time.sleep(0.5)
    assert cluster.ended_jobs()[number][0] == "COMPLETED", output.read_text()
    rows = ("ingest_corpus/", "read_examples/", "build_vocabulary/", "mask_examples/", "ingest_examples/")
    steps = (*rows, "pretrain/", "fine_tune/")
    assert untimed_results(root) == {name: digest for name, digest in expected.items() if name.startswith(steps)}


_OVERLAP = '["srun", "--quiet", "-n1", "-c2", "--overlap"]'
