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
from typing import Any, NamedTuple

from components.dsl.errors import nearest
from components.dsl.workplace import report_progress
from keras_bert.checks import check

LOCAL = "FnApiRunner"
# Those that Beam 2.77 knows by a short name, in any case and also without "Runner" (apache_beam.runners.runner); every
# other one has a name with dots.
RUNNERS = (
    *("BundleBasedDirectRunner", "DataflowRunner", "DirectRunner", "FlinkRunner", LOCAL, "InteractiveRunner"),
    *("KafkaStreamsRunner", "PortableRunner", "PrismRunner", "PythonRPCDirectRunner", "SparkRunner"),
    *("SwitchingDirectRunner", "TestDataflowRunner", "TestDirectRunner"),
)
_COUNT = "units"
_WORKER = b"apache_beam.runners.worker.sdk_worker_main"

# A worker process imports Beam and often TensorFlow, 3 to 10 s on one core. In so long a step of one thread gets
# through about so many bytes of text ...
BYTES_A_PROCESS = 32_000_000
# ... and a step of several through more, by estimate: what it loses to a second process is only what Python itself
# does, a quarter to a half of the work, which one thread of a process does at a time. Hence no more threads than this.
THREADED_BYTES_A_PROCESS = 256_000_000
_MOST_THREADS = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamOptions:
    """Which engine runs the Beam steps, and how; it never changes their result.

    Attributes:
        runner: a runner of Beam by name, as FnApiRunner (this machine), PortableRunner, FlinkRunner, DataflowRunner; or
            the full name of a class, as apache_beam.runners.dask.dask_runner.DaskRunner.
        workers: processes of FnApiRunner; as many as the work is worth if None, at most one a core. Cores that are
            left are used by threads.
        options: further pipeline options of Beam by name, passed on unchanged. All workers of an engine on other
            machines must see the same files as this process, and have this project installed.
    """

    runner: str = LOCAL
    workers: int | None = None
    options: Mapping[str, str | bool | int | float | list[str]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check("BeamOptions", "runner", bool(self.runner), "not be empty", self.runner)
        known = {name.lower() for name in RUNNERS}
        if "." not in self.runner and not known & {self.runner.lower(), f"{self.runner.lower()}runner"}:
            rule = "be a runner of Beam or the full name of a class"
            raise ValueError(
                f"BeamOptions.runner must {rule}, got {self.runner!r}{nearest(self.runner, list(RUNNERS))}"
            )
        check("BeamOptions", "workers", self.workers is None or self.workers >= 1, "be at least 1", self.workers)


def count_processes(beam: BeamOptions, size: int, each: int = BYTES_A_PROCESS) -> int:
    """How many processes a piece of work gets on this machine.

    Args:
        beam: may say it.
        size: of the work, in bytes of text.
        each: the bytes that a process is worth.
    """
    return beam.workers or max(1, min(len(os.sched_getaffinity(0)), size // each))


class Scale(NamedTuple):
    """How work is spread.

    Attributes:
        processes: of the local runner; 0 on other engines.
        threads: of each process.
    """

    processes: int
    threads: int

    @property
    def alone(self) -> bool:
        """Whether this process does all of the work, so that nothing has to be brought elsewhere."""
        return self.processes == 1


def choose_scale(beam: BeamOptions, size: int, *, threaded: bool) -> Scale:
    """On this machine a thread for each core, up to four a process; other engines have threads of their own.

    Args:
        beam: may say how many processes there are.
        size: of the work, in bytes of text.
        threaded: whether the steps make use of threads.
    """
    if beam.runner != LOCAL:
        return Scale(processes=0, threads=1)
    processes = count_processes(beam, size, THREADED_BYTES_A_PROCESS if threaded else BYTES_A_PROCESS)
    # Those of the options win.
    processes = int(beam.options.get("direct_num_workers", processes))  # type: ignore[arg-type]
    cores = len(os.sched_getaffinity(0))
    return Scale(processes, max(1, min(_MOST_THREADS, cores // max(processes, 1))) if threaded else 1)


def spread(elements: Any, label: str, scale: Scale) -> Any:
    """A collection on all workers; as it is, where there is one."""
    import apache_beam as beam_sdk

    return elements if scale.alone else elements | label >> beam_sdk.Reshuffle()


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
    work: Iterable[Any],
    steps: Callable[[Any], Any],
    beam: BeamOptions | None = None,
    size: int = 0,
    scale: Scale | None = None,
) -> dict[str, int]:
    """Runs `steps` over a collection of units of work and waits for the end.

    Args:
        work: the elements of the first collection, one unit of work each.
        steps: takes that collection and applies transforms to it.
        beam: the engine.
        size: of the work, in bytes of text.
        scale: how it is spread, where the steps know; chosen by the size if None.

    Returns:
        The counters that the steps kept, by name; none where the runner keeps none. A bundle that ran twice may
        count twice.

    Raises:
        RuntimeError: the pipeline broke.
    """
    import apache_beam as beam_sdk

    beam = beam or BeamOptions()
    scale = scale or choose_scale(beam, size, threaded=False)
    options = make_options(beam, scale.processes)
    # Named in full: Beam's default local runner may first look for a binary on the network.
    pipeline = beam_sdk.Pipeline(runner=beam.runner, options=options)
    units = list(work)
    # Not `Create`, whose splittable source takes 50 ms.
    started = pipeline | "Start" >> beam_sdk.Impulse() | "Work" >> beam_sdk.FlatMap(lambda _: units)
    steps(spread(started, "Spread", scale))
    with _importable_by_workers():
        result = _run_watched(pipeline) if scale.processes > 1 else pipeline.run()
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
        scratch: a folder that all units of work share; each leaves a mark in it, which counts once.
        name: of the unit.
        total: the number of units.
        note: a few words for a person.
    """
    try:
        (Path(scratch) / f"{name}.done").touch(exist_ok=False)
    except FileExistsError:
        return
    # A byte for each mark: to list the folder after each unit would take time that grows with the square of them.
    with (Path(scratch) / _COUNT).open("ab", buffering=0) as stream:
        stream.write(b".")
        report_progress(stream.tell(), total, note)
