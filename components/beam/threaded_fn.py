"""A DoFn that works on several elements at once, in threads of one process."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindows


class ThreadedFn(beam.DoFn):
    """Hands each element to a thread, and gives the results in the order of the elements; counts their milliseconds.

    While threads are at work, the steps that feed this one go on. It pays where the work is done outside of Python:
    packing, tokenizing, large arrays. What is at hand at one time are one element a thread and one more.

    Args:
        name: of the component, for the counter.
        threads: of each worker process; with 1 the work is done in the calling thread.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.threads = threads
        self._milliseconds = Metrics.counter(name, f"{type(self).__name__} ms")

    def setup(self) -> None:
        """Starts the threads once a worker."""
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def start_bundle(self) -> None:
        """Forgets a bundle that broke."""
        self._pending: deque[Future[tuple[list[Any], float]]] = deque()

    def process(self, element: Any) -> Iterator[Any]:
        """Begins to work on one element, and gives what is ready of those before."""
        if self._pool is None:
            yield from self._count(*self._work_timed(element))
            return
        self._pending.append(self._pool.submit(self._work_timed, element))
        while len(self._pending) > self.threads:
            yield from self._count(*self._pending.popleft().result())

    def finish_bundle(self) -> Iterator[Any]:
        """Gives the rest."""
        while self._pending:
            for result in self._count(*self._pending.popleft().result()):
                yield GlobalWindows.windowed_value(result)

    def teardown(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def work(self, element: Any) -> Iterable[Any]:
        """What the step does; runs in any thread, where Beam's counters count nothing."""
        raise NotImplementedError

    def note(self, result: Any) -> None:
        """Counts a result, in the thread of Beam's."""

    def _work_timed(self, element: Any) -> tuple[list[Any], float]:
        began = time.monotonic()
        results = list(self.work(element))
        return results, time.monotonic() - began

    def _count(self, results: list[Any], seconds: float) -> list[Any]:
        self._milliseconds.inc(round(1000 * seconds))
        for result in results:
            self.note(result)
        return results
