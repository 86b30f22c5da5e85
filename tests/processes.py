"""Processes of others that tests start, wait for and end."""

import contextlib
import os
import signal
import socket
import subprocess
import time


@contextlib.contextmanager
def running(command, **options):
    """A process in a group of its own, ended with all that it started."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)


def wait_for(look, process=None, seconds=60.0):
    """The first true result of a function, which is called until then; fails when the process ends before."""
    deadline = time.monotonic() + seconds
    while not (result := look()):
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.01)
    return result


def free_ports(count):
    """Ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for taken in sockets:
            taken.bind(("", 0))
        return [taken.getsockname()[1] for taken in sockets]


def free_port():
    """A port that nobody listens on."""
    return free_ports(1)[0]


def can_connect(port):
    """Whether somebody listens on a port of the loopback interface."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
