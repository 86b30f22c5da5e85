"""Processes for tests that begin with TensorFlow imported: to import it takes longer than what most of them do."""

import multiprocessing

from pipeline.orchestrator.executor import PRELOAD


def start(function, *arguments):
    """Runs a function of a module in a process of its own, forked from a server where no test has been."""
    multiprocessing.set_forkserver_preload(list(PRELOAD))
    process = multiprocessing.get_context("forkserver").Process(target=function, args=arguments)
    process.start()
    return process


def run(function, *arguments):
    """The same, to its end, which must be a good one."""
    process = start(function, *arguments)
    process.join()
    assert process.exitcode == 0
