"""A table is answered by workers of a job service as in this process: the same bytes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.answers.answer_table import answer_table
from components.answers.table_request import TableRequest
from components.beam.engine import BeamOptions
from tests.components.answers.test_model_handler import build, sample_texts, write

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[3]


@contextlib.contextmanager
def serving(module: str, *arguments: str, port: int, log: Path) -> Iterator[None]:
    """A server of Beam in a process group of its own, which ends with the block."""
    # The pool starts workers as `python`.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PATH": path}
    command = [sys.executable, "-m", module, *arguments]
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            deadline = time.monotonic() + 120
            while True:
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for taken in sockets:
            taken.bind(("127.0.0.1", 0))
        return [taken.getsockname()[1] for taken in sockets]


def test_workers_of_a_job_service_write_the_same_bytes(tmp_path: Path) -> None:
    model = write(build("classification"), tmp_path, "tflite")
    (tmp_path / "rows.csv").write_text("text\n" + "\n".join(sample_texts(2000, 0)))
    pool, service = free_ports(2)
    runners = {
        "local": BeamOptions(workers=1),
        "service": BeamOptions(
            runner="PortableRunner",
            options={
                "job_endpoint": f"localhost:{service}",
                "job_server_timeout": 300,  # seconds, for a machine with other work
                "environment_type": "EXTERNAL",
                "environment_config": f"localhost:{pool}",
            },
        ),
    }
    beam = "apache_beam.runners"
    staging = ("--job_port", str(service), "--staging_dir", str(tmp_path / "staging"))
    with (
        serving(f"{beam}.worker.worker_pool_main", f"--service_port={pool}", port=pool, log=tmp_path / "pool.log"),
        serving(f"{beam}.portability.local_job_service_main", *staging, port=service, log=tmp_path / "service.log"),
    ):
        for name, options in runners.items():
            out = tmp_path / f"{name}.parquet"
            request = TableRequest(model=model, table=str(tmp_path / "rows.csv"), text="text", out=out, beam=options)
            assert answer_table(request).rows == 2000
    assert (tmp_path / "service.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()
    assert "Starting worker with command" in (tmp_path / "pool.log").read_text()
