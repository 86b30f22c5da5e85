"""A whole job on two devices of one machine, as `MirroredStrategy` runs it on several GPUs."""

import subprocess
import sys

import pytest

from tests.tiny_job import SETTINGS, write_job


@pytest.mark.workers
def test_a_whole_job_on_two_devices(tmp_path):
    job, root = write_job(tmp_path), tmp_path / "root"
    job.write_text(SETTINGS.replace('precision = "float32"', 'precision = "float32"\nbatch_size = 8'))
    command = [sys.executable, "-m", "tests.pipeline.workers.drive_two_devices", str(job), str(root)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    for step in ("pretrain", "fine_tune", "distill", "quantize"):
        (log,) = root.glob(f"logs/1/{step}.log")
        assert "devices: 2\n" in log.read_text(), step
    assert list(root.glob("artifacts/export_model/*/*.tflite"))
