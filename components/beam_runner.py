"""Where Beam pipelines run: by default on this machine, in as many processes as the work is worth."""

import contextlib
import copy
import dataclasses
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.base import report_progress
from keras_bert.config import check

LOCAL = "FnApiRunner"
_WORKER = b"apache_beam.runners.worker.sdk_worker_main"

# A worker process imports Beam and often TensorFlow, 3 to 10 s on one core; in 3 s the fastest step, `ingest_corpus`,
# gets through about so many bytes of text.
BYTES_A_PROCESS = 32_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamOptions:
    """Which engine runs the Beam steps, and how; it never changes their result.

    Attributes:
        runner: a runner of Beam by name, as FnApiRunner (this machine), PortableRunner, FlinkRunner, DataflowRunner.
        workers: processes of FnApiRunner; as many as the work is worth if None, at most one a core.
        options: further pipeline options of Beam by name, passed on unchanged. All workers of an engine on other
            machines must see the same files as this process, and have this project installed.
    """

    runner: str = LOCAL
    workers: int | None = None
    options: Mapping[str, str | bool | int | float | list[str]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check("BeamOptions", "runner", bool(self.runner), "not be empty", self.runner)
        check("BeamOptions", "workers", self.workers is None or self.workers >= 1, "be at least 1", self.workers)


def count_processes(beam: BeamOptions, size: int) -> int:
    """How many processes a piece of work gets on this machine.

    Args:
        beam: may say it.
        size: of the work, in bytes of text.
    """
    return beam.workers or max(1, min(len(os.sched_getaffinity(0)), size // BYTES_A_PROCESS))


def make_options(beam: BeamOptions, processes: int) -> Any:
    """The pipeline options of Beam.

    Args:
        beam: whose options win over those that this makes.
        processes: of the local runner.
    """
    from apache_beam.options.pipeline_options import PipelineOptions

    local: dict[str, Any] = {}
    if beam.runner == LOCAL:
        mode = "multi_processing" if processes > 1 else "in_memory"
        local = {"direct_num_workers": processes, "direct_running_mode": mode}
    # Without flags Beam would read the command line of whatever program this runs in. It adds to lists it is given.
    return PipelineOptions(flags=[], **{**local, **copy.deepcopy(dict(beam.options))})


def run_over(
    work: Iterable[Any], steps: Callable[[Any], Any], beam: BeamOptions | None = None, size: int = 0
) -> dict[str, int]:
    """Runs `steps` over a collection of units of work and waits for the end.

    Args:
        work: the elements of the first collection, one unit of work each.
        steps: takes that collection and applies transforms to it.
        beam: the engine.
        size: of the work, in bytes of text.

    Returns:
        The counters that the steps kept, by name; none where the runner keeps none. A bundle that ran twice may
        count twice.

    Raises:
        RuntimeError: the pipeline broke.
    """
    import apache_beam as beam_sdk

    beam = beam or BeamOptions()
    processes = count_processes(beam, size) if beam.runner == LOCAL else 1
    options = make_options(beam, processes)
    # Named in full: Beam's default local runner may first look for a binary on the network.
    pipeline = beam_sdk.Pipeline(runner=beam.runner, options=options)
    steps(pipeline | "Work" >> beam_sdk.Create(list(work)) | "Spread" >> beam_sdk.Reshuffle())
    with _importable_by_workers():
        result = _run_watched(pipeline) if processes > 1 else pipeline.run()
        state = result.wait_until_finish()
    if state not in (None, "DONE"):
        raise RuntimeError(f"the Beam pipeline on {beam.runner} ended in the state {state}; its own log says why")
    return _read_counters(result)


def _run_watched(pipeline: Any) -> Any:
    """Runs a pipeline, and gives up when a worker process ends: the local runner would wait for its answer for ever.

    Raises:
        RuntimeError: a worker ended, or the pipeline broke.
    """
    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            ends.put(pipeline.run())
        except Exception as error:
            ends.put(error)

    def notice(arguments: threading.ExceptHookArgs) -> None:
        # Beam starts each worker from a thread of this name, which raises when its process is gone.
        if arguments.thread is not None and arguments.thread.name.startswith("run_worker"):
            ends.put(RuntimeError(f"a worker process of Beam was killed ({arguments.exc_value}), maybe for its memory"))
        else:
            before(arguments)

    before, threading.excepthook = threading.excepthook, notice
    try:
        threading.Thread(target=run, name="run_pipeline", daemon=True).start()
        end = ends.get()
        if isinstance(end, Exception):
            _end_workers()
            raise end
        return end
    finally:
        threading.excepthook = before


def _end_workers() -> None:
    """Ends the worker processes that the local runner has started from this process; they have nobody to ask."""
    for shell in _children(os.getpid()):
        if _WORKER in Path(f"/proc/{shell}/cmdline").read_bytes():
            for worker in [*_children(shell), shell]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)


def _children(process: int) -> list[int]:
    found = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in tasks.read_text().split()]
    return found


def _read_counters(result: Any) -> dict[str, int]:
    try:
        counters = result.metrics().query()["counters"]
    except NotImplementedError:
        return {}
    totals: dict[str, int] = {}
    for counter in counters:
        name = counter.key.metric.name
        totals[name] = totals.get(name, 0) + int(counter.result or 0)
    return totals


@contextlib.contextmanager
def _importable_by_workers() -> Iterator[None]:
    """Worker processes start from this process' environment, and must find the modules that this one imports."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def report_unit(scratch: str, name: str, total: int, note: str) -> None:
    """Reports that one unit of work is done; only workers in the process that runs the step are heard.

    Args:
        scratch: a folder that all units of work share; each leaves a mark in it.
        name: of the unit.
        total: the number of units.
        note: a few words for a person.
    """
    (Path(scratch) / f"{name}.done").touch()
    report_progress(len(list(Path(scratch).glob("*.done"))), total, note)
