"""The data part of a job on engines of others: the bytes of the local run, also from an engine that loses a worker.

Workers have only the wheel, in an environment of their own. `make test-prism` and `make test-dask` bring the engines.
"""

import contextlib
import os
import subprocess
import threading

import psutil
import pytest

from components.artifacts.standard import Corpus, PretrainingExamples, Vocabulary
from components.beam.engine import BeamOptions
from components.build_vocabulary import build_vocabulary
from components.ingest_corpus import ingest_corpus
from components.mask_examples import mask_examples
from components.sources.text import TextSource
from keras_bert.options.pretraining import PretrainingRows
from tests.components.beam.portable import portable_engine
from tests.processes import can_connect, free_port, running, wait_for
from tests.wheel import build_wheel, make_environment

DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for file in range(40):
        texts = [
            f"Text {number} of file {file} says {'again ' * (number % 5)}{number * file}.\nIts end: {number}, {file}."
            for number in range(150)
        ]
        (folder / f"{file}.txt").write_text("\n\n".join([*texts, "The same in every file, from word to word."]))
    return TextSource(str(folder))


def make_data_part(folder, source, beam):
    """The fingerprints of all artifacts that Beam makes."""
    corpus, vocabulary = Corpus(folder / "corpus"), Vocabulary(folder / "vocabulary")
    examples = PretrainingExamples(folder / "examples")
    with pytest.MonkeyPatch.context() as patch:
        # Many chunks, and with them work for all workers.
        patch.setattr("components.corpus.chunks.CHUNK_CHARACTERS", 5000)
        ingest_corpus.run(corpus=corpus, source=source, beam=beam)
    build_vocabulary.run(corpus=corpus, vocabulary=vocabulary, size=120, beam=beam)
    rows = PretrainingRows(held_out=0.1)
    mask_examples.run(corpus=corpus, vocabulary=vocabulary, examples=examples, rows=rows, beam=beam)
    return {artifact.path.name: artifact.fingerprint() for artifact in (corpus, vocabulary, examples)}


@pytest.fixture(scope="session")
def expected(tmp_path_factory, source):
    return make_data_part(tmp_path_factory.mktemp("local"), source, BeamOptions(workers=1))


@pytest.fixture(scope="session")
def worker_environment(tmp_path_factory):
    """An environment for processes of workers, which have the wheel and its libraries."""
    folder = tmp_path_factory.mktemp("worker")
    programs = make_environment(folder / "environment", build_wheel(folder))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return environment | {"PATH": path, "PYTHONSAFEPATH": "1"}


@pytest.fixture
def prism(tmp_path, worker_environment):
    """Prism and a pool of workers; gives the options of Beam."""
    with portable_engine(
        tmp_path,
        lambda port: [os.environ["PRISM"], f"--job_port={port}", "--serve_http=false"],
        worker_environment,
    ) as beam:
        yield beam


@contextlib.contextmanager
def killed_when_chunks_are_written(folder, find_worker):
    """Kills a worker as soon as the first chunk of a corpus is there; fails if none was killed."""
    killed = []

    def kill():
        wait_for(lambda: list(folder.glob("corpus/*/*.chunk")))
        worker = wait_for(find_worker)
        killed.append(worker.pid)
        worker.kill()

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert killed


def find_process(text):
    """A process below this one with a text in its command, or None."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if text in " ".join(process.cmdline()):
                return process
    return None


@pytest.mark.prism
def test_prism_makes_the_bytes_of_the_local_run(tmp_path, source, expected, prism):
    assert make_data_part(tmp_path / "remote", source, prism) == expected


@pytest.mark.prism
def test_prism_without_a_worker_leaves_no_artifact_and_the_next_run_makes_it(tmp_path, source, expected, prism):
    folder = tmp_path / "remote"
    with (
        killed_when_chunks_are_written(folder, lambda: find_process("SdkHarness")),
        pytest.raises(ConnectionError, match=r"^the Beam pipeline on PortableRunner lost a worker"),
    ):
        make_data_part(folder, source, prism)
    assert not list((folder / "corpus").iterdir())
    assert make_data_part(folder, source, prism) == expected


@pytest.fixture
def dask(tmp_path, worker_environment):
    """A scheduler of Dask and two workers; gives the options of Beam."""
    port = free_port()
    environment = worker_environment | {"PYTHONPATH": os.environ["DASK_PATH"]}
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ["python", "-m", "distributed.cli.dask_scheduler", "--host=127.0.0.1", f"--port={port}"]
    worker = ["python", "-m", "distributed.cli.dask_worker", address, "--host=127.0.0.1", "--nthreads=1"]
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((tmp_path / "log").open("w"))
        logs = {"stdout": log, "stderr": subprocess.STDOUT, "env": environment}
        stack.enter_context(running([*scheduler, "--no-dashboard"], cwd=tmp_path, **logs))
        wait_for(lambda: can_connect(port))
        for number in range(2):
            options = ["--no-dashboard", "--no-nanny", "--memory-limit=2GB", f"--name=worker-{number}"]
            stack.enter_context(running([*worker, *options], cwd=tmp_path, **logs))
        wait_for(lambda: (tmp_path / "log").read_text().count("Registered to") == 2)
        yield BeamOptions(runner=DASK, options={"dask_client_address": address})
        # Without an address Beam would start a cluster of its own.
        assert "Receive client connection" in (tmp_path / "log").read_text()


@pytest.mark.dask
def test_dask_makes_the_bytes_of_the_local_run(tmp_path, source, expected, dask):
    assert make_data_part(tmp_path / "remote", source, dask) == expected


@pytest.mark.dask
def test_dask_goes_on_without_a_worker(tmp_path, source, expected, dask):
    folder = tmp_path / "remote"
    with killed_when_chunks_are_written(folder, lambda: find_process("worker-0")):
        assert make_data_part(folder, source, dask) == expected
