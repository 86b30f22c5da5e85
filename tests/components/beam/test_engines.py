"""The same corpus from every engine, and from an engine that loses a worker."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions, run_over
from components.ingest_corpus import ingest_corpus
from components.sources.text import TextSource
from tests.components.beam.portable import local_service, portable_engine
from tests.processes import wait_for
from tests.wheel import build_wheel, make_environment, site_packages

REPOSITORY = Path(__file__).parents[3]


def write_texts(folder, files=3, documents=40):
    folder.mkdir()
    for file in range(files):
        texts = [f"Text {n} of file {file} says {n * file}.\nIts end: {n}, {file}." for n in range(documents)]
        (folder / f"{file}.txt").write_text("\n\n".join([*texts, "The same in every file, from word to word."]))
    return TextSource(str(folder))


def ingest(folder, source, **options):
    corpus = Corpus(folder)
    ingest_corpus.run(corpus=corpus, source=source, beam=BeamOptions(**options))
    assert corpus.manifest()["counts"]["dropped"]["exact duplicate"] == 2
    return corpus.fingerprint()


def test_same_bytes_with_two_processes(tmp_path):
    source = write_texts(tmp_path / "texts")
    assert ingest(tmp_path / "a", source, workers=1) == ingest(tmp_path / "b", source, workers=2)


BEAM_THREADS = {"beam_control_read", "read_grpc_client_inputs", "run_worker"}


def _kill_own_worker(_):
    """Ends the worker process that this runs in, as the system does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


# Other threads of Beam also say that they lost the worker, which is no warning of the next test.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_killed_worker_is_an_error_and_leaves_no_process(tmp_path):
    import apache_beam as beam

    before = {*threading.enumerate()}
    with pytest.raises(RuntimeError, match="a worker process of Beam was killed"):
        run_over([1], lambda work: work | beam.Map(_kill_own_worker), BeamOptions(workers=2))
    wait_for(lambda: not any(map(is_worker, psutil.Process().children())), seconds=10)
    wait_for(lambda: not {thread.name for thread in {*threading.enumerate()} - before} & BEAM_THREADS)


def is_worker(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return any("sdk_worker_main" in argument for argument in process.cmdline())
    return False


KILLED = """
import os, signal, sys
from pathlib import Path
import components.corpus.transforms
from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions
from components.ingest_corpus import ingest_corpus
from components.sources.text import TextSource
if __name__ == "__main__":
    corpus = Corpus(sys.argv[2])
    ingest_corpus.run(corpus=corpus, source=TextSource(sys.argv[1]), beam=BeamOptions(workers=2))
"""


@pytest.mark.long
def test_a_worker_killed_in_the_middle_leaves_no_artifact_and_the_next_run_makes_it(tmp_path):
    source = write_texts(tmp_path / "texts", files=40, documents=400)
    script = tmp_path / "make.py"
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(script), source.path, str(tmp_path / "killed")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        worker = wait_for(lambda: find_worker(psutil.Process(process.pid)), process)
        wait_for(lambda: list((tmp_path / "killed").glob("*/*.chunk")), process)
        worker.kill()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "a worker process of Beam was killed" in errors
    assert not list((tmp_path / "killed").iterdir())
    corpora = [Corpus(tmp_path / name) for name in ("killed", "whole")]
    for corpus, workers in zip(corpora, (2, 1), strict=True):
        ingest_corpus.run(corpus=corpus, source=source, beam=BeamOptions(workers=workers))
    assert corpora[0].fingerprint() == corpora[1].fingerprint()


def find_worker(process):
    return next((worker for shell in process.children() for worker in shell.children() if is_worker(worker)), None)


@pytest.mark.slow
def test_same_bytes_from_a_job_service_and_workers_that_have_only_the_wheel(tmp_path):
    source = write_texts(tmp_path / "texts")
    programs = make_environment(tmp_path / "worker", build_wheel(tmp_path))
    away = tmp_path / "elsewhere"
    away.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean["PATH"] = f"{programs}{os.pathsep}{clean['PATH']}"
    python = str(programs / "python")
    listing = subprocess.run(
        [python, "-c", "import components; print(components.__file__)"],
        cwd=away,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert listing.stdout.startswith(str(site_packages(programs)))
    with portable_engine(away, local_service(tmp_path, python), clean, python) as beam:
        remote = ingest(tmp_path / "remote", source, **dataclasses.asdict(beam))
    assert "Starting worker with command" in (away / "log").read_text()
    assert remote == ingest(tmp_path / "local", source)
