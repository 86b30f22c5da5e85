"""Processes for tests that begin with TensorFlow imported: to import it takes longer than what most of them do."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from pipeline.orchestrator.executor import PRELOAD


def start(function: Callable[..., Any], *arguments: Any) -> BaseProcess:
    """Runs a function of a module in a process of its own, forked from a server where no test has been."""
    multiprocessing.set_forkserver_preload(list(PRELOAD))
    process = multiprocessing.get_context("forkserver").Process(target=function, args=arguments)
    process.start()
    return process


def run(function: Callable[..., Any], *arguments: Any) -> None:
    """The same, to its end, which must be a good one."""
    process = start(function, *arguments)
    process.join()
    assert process.exitcode == 0
