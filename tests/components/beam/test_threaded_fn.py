import threading
import time

import apache_beam as beam
import pytest

from components.beam.engine import run_over
from components.beam.threaded_fn import ThreadedFn


class SquareFn(ThreadedFn):
    """Takes longest for the first element; writes the order in which squares come out."""

    def __init__(self, threads, file):
        super().__init__("test", threads)
        self._noted = beam.metrics.Metrics.counter("test", "noted")
        self._file = str(file)

    def work(self, number):
        time.sleep(0.1 / number)
        yield number * number, threading.get_ident()

    def note(self, result):
        self._noted.inc(result[0])


class FailFn(SquareFn):
    def work(self, number):
        if number == 1:
            raise ValueError("one is too few")
        time.sleep(0.3)
        with open(self._file, "a") as stream:
            stream.write("late")
        return ()


@pytest.mark.parametrize("threads", [1, 2, 3, 10])
def test_results_stay_in_order_and_are_counted(tmp_path, threads):
    file = tmp_path / "found"
    file.touch()

    def write(result):
        with file.open("a") as stream:
            stream.write(f"{result[0]} {result[1]}\n")

    counters = run_over(
        [1, 2, 3, 4, 5], lambda work: work | beam.ParDo(SquareFn(threads, file)) | "Write" >> beam.Map(write)
    )
    squares, workers = zip(*(line.split() for line in file.read_text().split("\n") if line), strict=True)
    assert squares == ("1", "4", "9", "16", "25")
    assert len(set(workers)) <= threads
    assert counters["noted"] == 55
    assert counters["SquareFn ms"] >= 200


def test_an_error_waits_for_the_other_threads(tmp_path):
    """Else they would write into folders that are gone."""
    file = tmp_path / "late"
    with pytest.raises(Exception, match="one is too few"):
        run_over([2, 1], lambda work: work | beam.ParDo(FailFn(4, file)))
    assert file.read_text() == "late"


def test_an_error_of_an_earlier_step_waits_for_the_threads(tmp_path):
    file = tmp_path / "late"

    def fail(number):
        return 1 / (number - 1) and number

    with pytest.raises(Exception, match="division by zero"):
        run_over([2, 3, 1], lambda work: work | beam.Map(fail) | "Fail" >> beam.ParDo(FailFn(4, file)))
    assert file.read_text() == "latelate"
