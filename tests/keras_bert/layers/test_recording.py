import sys
import threading

from keras_bert.layers.tap import Tap, recording, transforming


def test_taps_record_in_order_and_are_as_before_afterwards():
    first, second = Tap("first"), Tap("second")
    with recording([first, second, first]) as seen:
        assert [first(1, True), second(2, True), first(3, False)] == [1, 2, 3]
    assert seen == {first: [1, 3], second: [2]}
    assert first.transform is second.transform is None
    assert first(4, True) == 4
    assert seen[first] == [1, 3]
    tap = Tap()
    tap.transform = double = lambda x, training: 2 * x
    with recording([tap]) as seen:
        assert tap(3, True) == 6
    assert seen[tap] == [6]
    assert tap.transform is double
    tap = Tap()
    try:
        with recording([tap]):
            raise KeyError
    except KeyError:
        assert tap.transform is None
    tap = Tap()
    with recording([tap]) as outer, transforming(tap, lambda x: -x):
        with recording([tap]) as inner:
            tap(1, False)
        tap(2, False)
    assert (outer[tap], inner[tap]) == ([1, 2], [-1])
    assert tap.transform is None


def test_threads_that_change_places_do_not_read_or_end_each_other():
    # As devices do in the middle of a model: the first is done when the second is half way.
    tap, turns, other = Tap(), [threading.Event() for _ in range(3)], {}

    def run():
        turns[0].wait()
        with recording([tap]) as seen:
            tap("b1", True)
            turns[1].set()
            turns[2].wait()
            tap("b2", True)
        other.update(seen)

    thread = threading.Thread(target=run)
    thread.start()
    with recording([tap]) as seen:
        tap("a1", True)
        turns[0].set()
        turns[1].wait()
        tap("a2", True)
    turns[2].set()
    thread.join()
    assert seen == {tap: ["a1", "a2"]}
    assert other == {tap: ["b1", "b2"]}
    assert tap.transform is None


def test_threads_that_start_and_stop_at_once_lose_nothing():
    tap, lost = Tap(), []

    def run():
        for number in range(1500):
            with recording([tap]) as seen:
                tap(number, True)
            if seen[tap] != [number]:
                lost.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert lost == []
    assert tap.transform is None


def test_a_further_function_is_applied_last_in_its_thread_and_is_gone_after_an_error():
    tap, outputs = Tap(), []
    tap.transform = double = lambda x, training: 2 * x
    try:
        with transforming(tap, lambda x: x + 1):
            outputs.append(tap(3, False))
            thread = threading.Thread(target=lambda: outputs.append(tap(3, False)))
            thread.start()
            thread.join()
            raise KeyError
    except KeyError:
        assert tap.transform is double
    assert outputs == [7, 6]


def test_a_function_that_goes_while_another_thread_records_does_not_come_back():
    tap, turns, recorded = Tap(), [threading.Event(), threading.Event()], []

    def record():
        with recording([tap]) as tensors:
            turns[0].set()
            turns[1].wait()
            tap(3, False)
        recorded.extend(tensors[tap])

    thread = threading.Thread(target=record)
    with transforming(tap, lambda x: -x):
        thread.start()
        turns[0].wait()
    turns[1].set()
    thread.join()
    assert recorded == [3], "the other thread's function is not for this one"
    assert tap.transform is None
    assert tap(3, False) == 3
