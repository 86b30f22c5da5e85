"""How the time of a row is taken."""

import os
import threading

import numpy as np
import pytest

from components.scoring import latency
from components.scoring.latency import on_processors, time_rows


def test_every_row_is_timed_after_a_first_pass():
    calls = []
    milliseconds = time_rows(lambda row: calls.append(row["token_ids"]), [{"token_ids": 1}, {"token_ids": 2}])
    assert calls == [1, 2, 1, 2]
    assert milliseconds >= 0


def test_the_median_in_milliseconds_of_the_first_rows(monkeypatch):
    ticks = iter(np.cumsum([0, 0.003, 1, 0.001, 1, 0.002]))
    monkeypatch.setattr(latency, "TIMED_ROWS", 3)
    monkeypatch.setattr(latency.time, "perf_counter", lambda: float(next(ticks)))
    rows = [{"token_ids": number} for number in range(5)]
    assert time_rows(lambda row: row, rows) == pytest.approx(2.0)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux tells")
def test_all_threads_are_on_processors_for_a_while():
    before = os.sched_getaffinity(0)
    done, processors = threading.Event(), []

    def look():
        done.wait(10)
        processors.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=look)
    thread.start()
    with on_processors(1):
        assert os.sched_getaffinity(0) == {min(before)}
        done.set()
        thread.join()
    assert processors == [{min(before)}]
    assert os.sched_getaffinity(0) == before
