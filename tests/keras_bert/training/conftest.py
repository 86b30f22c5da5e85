import signal

import pytest


@pytest.fixture
def interruptible():
    """A shell starts what it puts into the background with SIGINT ignored; the tests may run there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
