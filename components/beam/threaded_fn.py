"""A DoFn that processes several elements at once, in threads of one process."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindows


class ThreadedFn(beam.DoFn):
    """Processes elements in threads and yields the results in the order of the elements; counts the milliseconds.

    While threads work, the transforms before this one go on. Threads help where the work runs outside of Python:
    compression, tokenization, large arrays. At most one element more than there are threads is in memory.
    `threads` is their number in a worker process; with 1 the calling thread does the work.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.threads = threads
        self._milliseconds = Metrics.counter(name, f"{type(self).__name__} ms")

    def setup(self) -> None:
        """Starts the threads."""
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def start_bundle(self) -> None:
        """Drops elements of a failed bundle."""
        self._pending: deque[Future[tuple[list[Any], float]]] = deque()

    def process(self, element: Any) -> Iterator[Any]:
        """Submits an element and yields finished results of earlier elements."""
        if self._pool is None:
            yield from self._count(*self._work_timed(element))
            return
        self._pending.append(self._pool.submit(self._work_timed, element))
        while len(self._pending) > self.threads:
            yield from self._count(*self._pending.popleft().result())

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the remaining results."""
        while self._pending:
            for result in self._count(*self._pending.popleft().result()):
                yield GlobalWindows.windowed_value(result)

    def teardown(self) -> None:
        """Stops the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def work(self, element: Any) -> Iterable[Any]:
        """Processes an element in any thread; Beam's counters do not work here, see `note`."""
        raise NotImplementedError

    def note(self, result: Any) -> None:
        """Counts a result, in Beam's thread."""

    def _work_timed(self, element: Any) -> tuple[list[Any], float]:
        start = time.monotonic()
        results = list(self.work(element))
        return results, time.monotonic() - start

    def _count(self, results: list[Any], seconds: float) -> list[Any]:
        self._milliseconds.inc(round(1000 * seconds))
        for result in results:
            self.note(result)
        return results
