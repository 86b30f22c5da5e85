"""The image: its instructions one by one in a folder, then a step and a pool of Beam workers as its user."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.image.dockerfile import Folder, read_instructions
from tests.tiny_job import write_job

REPOSITORY = Path(__file__).parents[2]
DEBOOTSTRAP = shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(DEBOOTSTRAP is None, reason="needs debootstrap, of Debian's packages"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs the rights of root, to change the root folder of a process"),
]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = Folder(tmp_path_factory.mktemp("image") / "root", REPOSITORY)
    try:
        for instruction in read_instructions((REPOSITORY / "deploy/Dockerfile").read_text()):
            folder.run_instruction(instruction)
        yield folder
    finally:
        folder.close()
        shutil.rmtree(folder.path, ignore_errors=True)


def test_the_command_of_the_image_is_ours(image):
    assert image.user == "1000:1000"
    assert "Usage: keras-bert-edge" in image.call(image.command)
    assert image.call(["keras-bert-edge", "--version"]).startswith("keras-bert-edge ")


def test_a_step_runs_as_the_user_of_the_image(image):
    job = write_job(image.path / "jobs")
    (image.path / "runs").mkdir(mode=0o777)
    (image.path / "runs").chmod(0o777)
    for step in ("ingest_corpus", "read_examples", "build_vocabulary", "mask_examples", "ingest_examples", "pretrain"):
        output = image.call(
            ["keras-bert-edge", "step", step, f"/jobs/{job.name}", "--root", "/runs/root", "--run", "1"]
        )
        assert f"/runs/root/artifacts/{step}/" in output
    assert not list((image.path / "runs" / "root" / ".staging").iterdir())


def test_a_pool_of_beam_workers_starts(image):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["python", "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    process = subprocess.Popen(
        ["chroot", f"--userspec={image.user}", str(image.path), *command],
        env=image.variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
