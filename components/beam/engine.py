"""Runs Beam pipelines, by default on this machine with a number of processes that suits the size of the work."""

import contextlib
import copy
import dataclasses
import errno
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
import pydantic

from components.beam.remote import check_servers, make_project_check, translate_error
from components.dsl.errors import InputError, nearest
from components.dsl.step_folders import report_progress
from keras_bert.core.checks import FieldError
from keras_bert.core.processor import usable_processors
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

LOCAL = "FnApiRunner"
# Beam 2.77 accepts these short names, in any case and also without "Runner" (apache_beam.runners.runner). All other
# runners have a name with dots.
RUNNERS = (
    *("BundleBasedDirectRunner", "DataflowRunner", "DirectRunner", "FlinkRunner", LOCAL, "InteractiveRunner"),
    *("KafkaStreamsRunner", "PortableRunner", "PrismRunner", "PythonRPCDirectRunner", "SparkRunner"),
    *("SwitchingDirectRunner", "TestDataflowRunner", "TestDirectRunner"),
)
_COUNT = "units"
_WORKER = "apache_beam.runners.worker.sdk_worker_main"

# A worker process imports Beam and often TensorFlow, which takes 3 to 10 s on one core. In that time a step with one
# thread processes about this many bytes of text ...
BYTES_A_PROCESS = 32_000_000
# ... and a step with several threads more (an estimate): a second process speeds up only the part that runs in Python
# itself, a quarter to a half of the work, because threads take turns there. Hence the limit on threads.
THREADED_BYTES_A_PROCESS = 256_000_000
_MOST_THREADS = 4
_POLL_SECONDS = 5.0


@validated_dataclass
class BeamOptions:
    """The Beam runner and its options; they never change a result.

    Attributes:
        runner: a Beam runner by name, such as FnApiRunner (this machine), PortableRunner, FlinkRunner or
            DataflowRunner; or the full name of a class, such as apache_beam.runners.dask.dask_runner.DaskRunner.
        workers: number of processes of FnApiRunner. None chooses it by the size of the work, at most one a core;
            threads use the remaining cores.
        options: further Beam pipeline options by name, passed on unchanged. Workers on other machines must see the
            same files as this process and have this project installed.
    """

    runner: NonEmptyStr = LOCAL
    workers: pydantic.PositiveInt | None = None
    options: Mapping[str, str | bool | int | float | list[str]] = dataclasses.field(default_factory=dict)

    @pydantic.model_validator(mode="after")
    def _check_runner(self) -> Self:
        short_names = {name.lower() for name in RUNNERS}
        if "." not in self.runner and not short_names & {self.runner.lower(), f"{self.runner.lower()}runner"}:
            rule, hint = "be a Beam runner or the full name of a class", nearest(self.runner, list(RUNNERS))
            raise FieldError("BeamOptions", "runner", rule, self.runner, hint)
        return self

    @property
    def is_local(self) -> bool:
        """Whether the runner is FnApiRunner; Beam takes its name in any case and also without "Runner"."""
        return self.runner.lower().removesuffix("runner") == "fnapi"


def count_processes(beam: BeamOptions, size: int, bytes_a_process: int = BYTES_A_PROCESS) -> int:
    """Number of local worker processes.

    `beam.workers` wins if it is set; `size` is in bytes of text, and `bytes_a_process` pay for the start of a process.
    """
    return beam.workers or max(1, min(usable_processors(), size // bytes_a_process))


class Scale(NamedTuple):
    """The number of processes of the local runner, 0 for other runners, and of threads of each process."""

    processes: int
    threads: int

    @property
    def alone(self) -> bool:
        """Whether this process does all of the work, so that data need not be moved."""
        return self.processes == 1


def choose_scale(beam: BeamOptions, size: int, *, threaded: bool) -> Scale:
    """Chooses one thread a core on this machine, up to four a process; other runners manage their threads themselves.

    `beam.workers` wins if it is set; `size` is in bytes of text.
    """
    if not beam.is_local:
        return Scale(processes=0, threads=1)
    processes = count_processes(beam, size, THREADED_BYTES_A_PROCESS if threaded else BYTES_A_PROCESS)
    # Beam's own option wins; 0 are all cores.
    processes = int(beam.options.get("direct_num_workers", processes)) or usable_processors()  # type: ignore[arg-type]
    return Scale(processes, max(1, min(_MOST_THREADS, usable_processors() // max(processes, 1))) if threaded else 1)


def spread(elements: Any, label: str, scale: Scale) -> Any:
    """Reshuffles a collection over all workers; returns it unchanged if there is only one."""
    import apache_beam as beam_sdk

    return elements if scale.alone else elements | label >> beam_sdk.Reshuffle()


def begin(pipeline: Any, label: str, elements: list[Any], scale: Scale) -> Any:
    """A collection of the given elements.

    Without Beam's `Create` on this machine, as its splittable source takes 50 ms; DaskRunner begins with nothing else.
    """
    import apache_beam as beam_sdk

    if scale.processes == 0:
        # `spread` follows, which parts the check from the work: workers load no other code before it.
        created = pipeline | f"{label} starts" >> beam_sdk.Create(elements)
        return created | label >> beam_sdk.Map(make_project_check())
    return pipeline | f"{label} starts" >> beam_sdk.Impulse() | label >> beam_sdk.FlatMap(lambda _: elements)


def make_options(beam: BeamOptions, processes: int) -> Any:
    """Beam's pipeline options. The options of `beam` win over the computed ones."""
    from apache_beam.options.pipeline_options import PipelineOptions

    local: dict[str, Any] = {}
    if beam.is_local:
        mode = "multi_processing" if processes > 1 else "in_memory"
        local = {"direct_num_workers": processes, "direct_running_mode": mode}
    if not beam.options:
        return PipelineOptions(flags=[], **local)
    from apache_beam.runners.portability.portable_runner import PortableRunner
    from apache_beam.runners.runner import create_runner

    runner = create_runner(beam.runner)  # its module may define options
    actions = dict[str, Any]()
    attributes = PipelineOptions(flags=[]).get_all_options(
        add_extra_args_fn=lambda parser: actions.update(parser._option_string_actions)
    )
    flag_names = {flag[2:] for flag in actions}
    for name in sorted(beam.options.keys() - flag_names - attributes.keys()):
        if not isinstance(runner, PortableRunner):
            rule = f"be an option of Beam, got {beam.options[name]!r}{nearest(name, flag_names | attributes.keys())}"
            raise InputError(f"BeamOptions.options.{name} must {rule}")
    # Beam compares with its choices only what is given as a flag.
    for name, value in beam.options.items():
        choices = actions[f"--{name}"].choices if f"--{name}" in actions else None
        if choices and value not in choices:
            raise InputError(f"BeamOptions.options.{name} must be one of {', '.join(choices)}, got {value!r}")
    options = copy.deepcopy(dict(beam.options))  # Beam appends to lists of options
    # Beam discards a flag's name that is not the name of its attribute, unless it is given as a flag.
    flags = [flag for name, value in options.items() if name not in attributes for flag in _make_flags(name, value)]
    return PipelineOptions(flags, **{**local, **options})


def _make_flags(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [f"--{name}" if one is True else f"--{name}={one}" for one in values if one is not False]


def run_over(
    work: Iterable[Any], steps: Callable[[Any], Any], beam: BeamOptions | None = None, scale: Scale | None = None
) -> dict[str, int]:
    """Runs transforms over units of work and waits for the end.

    `steps` applies transforms to the collection of all units. `scale` is one process by default.
    Returns the transforms' counters by name; empty if the runner has none. A bundle that ran twice may count twice.
    """
    import apache_beam as beam_sdk

    beam = beam or BeamOptions()
    scale = scale or choose_scale(beam, 0, threaded=False)
    try:
        # The runner is always named: Beam's default local runner may look for a binary on the network.
        pipeline = beam_sdk.Pipeline(runner=beam.runner, options=make_options(beam, scale.processes))
    except InputError:
        raise
    except (AttributeError, ImportError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"[beam] must name an installed runner and options that it takes, got {reason}") from None
    steps(spread(begin(pipeline, "Work", list(work), scale), "Spread", scale))
    is_remote = scale.processes == 0
    if is_remote:
        check_servers(dict(beam.options))
    with _importable_by_workers():
        try:
            result = _run_watched(pipeline) if scale.processes > 1 else pipeline.run()
            state = result.wait_until_finish()
        except Exception as error:
            if (translated := translate_error(error, beam.runner)) is error:
                raise
            raise translated from error
    if state not in (None, "DONE"):
        raise RuntimeError(f"the Beam pipeline on {beam.runner} ended in the state {state}; the runner's log says why")
    return _read_counters(result)


def _run_watched(pipeline: Any) -> Any:
    """Runs a pipeline and fails when a worker process ends; the local runner would wait for its answer forever.

    A worker that cannot write its error to a log on a full disk sends no answer, either.
    """
    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            ends.put(pipeline.run())
        except Exception as error:
            ends.put(error)

    def notice(arguments: threading.ExceptHookArgs) -> None:
        # Beam starts every worker from a thread of this name, which raises when its process has ended.
        if arguments.thread is not None and arguments.thread.name.startswith("run_worker"):
            reason = f"({arguments.exc_value}), maybe because memory ran out"
            ends.put(RuntimeError(f"a worker process of Beam was killed {reason}"))
        else:
            previous_hook(arguments)

    previous_hook, threading.excepthook = threading.excepthook, notice
    try:
        threading.Thread(target=run, name="run_pipeline", daemon=True).start()
        end, full_polls = None, 0
        while end is None:
            with contextlib.suppress(queue.Empty):
                end = ends.get(timeout=_POLL_SECONDS)
            full_polls = full_polls + 1 if _is_log_full() else 0
            if end is None and full_polls > 1:
                end = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if isinstance(end, Exception):
            _end_workers()
            raise end
        return end
    finally:
        threading.excepthook = previous_hook


def _is_log_full(descriptor: int = 2) -> bool:
    """Whether a file lies on a disk without a free block; pipes and terminals have no blocks."""
    disk = os.fstatvfs(descriptor)
    return disk.f_blocks > 0 and (disk.f_bavail if os.geteuid() else disk.f_bfree) == 0


def _end_workers() -> None:
    """Kills the worker processes that the local runner started from this process; nothing else would end them."""
    for shell in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(_WORKER in argument for argument in shell.cmdline()):
                for worker in [*shell.children(), shell]:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        worker.kill()


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
    """Passes `sys.path` on to worker processes by the environment, so that they can import the same modules."""
    previous_path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        yield
    finally:
        if previous_path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = previous_path


def report_unit(scratch: str, name: str, total: int, note: str) -> None:
    """Reports that a unit of work is done. Only reports from the process that runs the step are shown.

    Every unit leaves a file in `scratch`, which all units share, so that it counts once.
    """
    try:
        (Path(scratch) / f"{name}.done").touch(exist_ok=False)
    except FileExistsError:
        return
    # One byte a finished unit. Listing the folder after every unit would take quadratic time.
    with (Path(scratch) / _COUNT).open("ab", buffering=0) as stream:
        stream.write(b".")
        report_progress(stream.tell(), total, note)
