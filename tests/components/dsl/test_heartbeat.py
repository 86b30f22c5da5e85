import threading

from components.dsl.heartbeat import Heartbeat


def test_a_heartbeat_goes_on_after_errors_until_it_is_stopped() -> None:
    numbers, is_third = list[int](), threading.Event()

    def beat() -> None:
        numbers.append(len(numbers))
        if len(numbers) == 3:
            is_third.set()
        raise OSError("no space left")

    heartbeat = Heartbeat(beat, 0.001)
    assert is_third.wait(60)
    heartbeat.stop()
    count = len(numbers)
    assert not [thread for thread in threading.enumerate() if thread is heartbeat._thread]
    assert len(numbers) == count


def test_a_beat_need_not_wait_for_its_time() -> None:
    has_beaten = threading.Event()
    heartbeat = Heartbeat(has_beaten.set, 3600)
    assert not has_beaten.is_set()
    heartbeat.beat_now()
    assert has_beaten.wait(60)
    heartbeat.stop()
