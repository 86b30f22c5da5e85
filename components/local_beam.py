"""Beam on this machine."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from components.base import report_progress


def run_over(work: Iterable[Any], steps: Callable[[Any], Any], workers: int = 1) -> None:
    """Runs `steps` over a collection of units of work and waits for the end.

    Args:
        work: the elements of the first collection, one unit of work each.
        steps: takes that collection and applies transforms to it.
        workers: processes to run bundles in; 1 stays in this process.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    mode = "multi_processing" if workers > 1 else "in_memory"
    # Without flags Beam would read the command line of whatever program this runs in.
    options = PipelineOptions(flags=[], direct_num_workers=workers, direct_running_mode=mode)
    # Named in full: Beam's default local runner may first look for a binary on the network.
    with _importable_by_workers(), beam.Pipeline(runner="FnApiRunner", options=options) as pipeline:
        units = pipeline | "Work" >> beam.Create(list(work)) | "Spread" >> beam.Reshuffle()
        steps(units)


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
