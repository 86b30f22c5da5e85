import os
import signal
import threading

import pytest

from keras_bert.training.stop_request import stop_requests

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted(number):
    before = signal.getsignal(number)
    with stop_requests() as request:
        assert request.signal == ""
        os.kill(os.getpid(), number)
        assert request.signal == number.name
    assert signal.getsignal(number) == before


def test_the_second_ctrl_c_does_not_wait_and_what_is_ignored_stays_so():
    with stop_requests():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_requests() as request:
            os.kill(os.getpid(), signal.SIGINT)
        assert request.signal == ""
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_leaves_signals_alone():
    handlers = []

    def work():
        with stop_requests():
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [before]
