"""A job service of Beam's portable runner, and a pool of its workers."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from components.beam.engine import BeamOptions
from tests.processes import can_connect, free_ports, running, wait_for


def local_service(folder: Path, python: str = "python") -> Callable[[int], list[str]]:
    """Port -> the command that starts Beam's own service."""
    module, staging = "apache_beam.runners.portability.local_job_service_main", str(folder / "staging")
    return lambda port: [python, "-m", module, "--job_port", str(port), "--staging_dir", staging]


@contextlib.contextmanager
def portable_engine(
    folder: Path, service: Callable[[int], list[str]], environment: Mapping[str, str], python: str = "python"
) -> Iterator[BeamOptions]:
    """Starts a service and a pool, whose output goes to `FOLDER/log`; gives the options of Beam."""
    job_port, pool_port = free_ports(2)
    pool = [python, "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={pool_port}"]
    with (folder / "log").open("w") as log:
        logs = {"stdout": log, "stderr": subprocess.STDOUT, "cwd": folder, "env": environment}
        with running(service(job_port), **logs) as server, running(pool, **logs) as workers:
            for port, process in ((job_port, server), (pool_port, workers)):
                wait_for(lambda port=port: can_connect(port), process, seconds=120)
            options = {
                "job_endpoint": f"localhost:{job_port}",
                "job_server_timeout": 300,  # seconds, for a machine with other work
                "environment_type": "EXTERNAL",
                "environment_config": f"localhost:{pool_port}",
            }
            yield BeamOptions(runner="PortableRunner", options=options)
