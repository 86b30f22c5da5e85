"""A part of a step in a second process; in processes of their own, as the test's may have used TensorFlow."""

import signal
import subprocess
import sys

START = """
import os, signal, time
from pathlib import Path
from components.dsl.errors import InputError
from components.dsl.side_process import call_beside, can_call_beside
from components.dsl.step_folders import StepFolders, report_progress, set_progress_sink, set_step_folders
"""


def run(code: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", START + code]
    return subprocess.run(command, check=False, capture_output=True, text=True, start_new_session=True, timeout=60)


def test_call_runs_at_the_same_time_and_reports_no_progress(tmp_path):
    place = tmp_path / "place"
    code = f"""
set_progress_sink(lambda *report: print(report))
def call():
    report_progress(1, 2, "beside")
    while not Path({str(place)!r}).exists():
        time.sleep(0.01)
    return os.getpid()
result = call_beside(call)
Path({str(place)!r}).touch()
print(result() != os.getpid())
"""
    assert run(code).stdout == "True\n"


def test_errors_are_raised_where_the_result_is_read():
    code = """
def call():
    raise InputError("export.dimension must be below 8, got 9")
result = call_beside(call)
try:
    result()
except InputError as error:
    print("caught:", error)
"""
    done = run(code)
    assert done.stdout == "caught: export.dimension must be below 8, got 9\n"
    assert "in call" in done.stderr, "the log has the traceback of the call"


def test_signal_that_ends_the_second_process_ends_the_first():
    code = """
result = call_beside(lambda: os.kill(os.getpid(), signal.SIGKILL))
result()
print("never")
"""
    assert (run(code).returncode, run(code).stdout) == (-signal.SIGKILL, "")


def test_second_process_dies_with_the_first():
    code = """
result = call_beside(lambda: time.sleep(60))
os.kill(os.getpid(), signal.SIGKILL)
"""
    # `run` waits for the end of the output, which the second process has open.
    assert run(code).returncode == -signal.SIGKILL


def test_only_a_step_with_room_calls_beside():
    code = """
import components.dsl.side_process as side_process
side_process.usable_processors = lambda: cores
side_process.usable_memory = lambda: 10**9
cores = 2
print(can_call_beside(1e9))
set_step_folders(StepFolders(scratch=Path(".")))
print(can_call_beside(1e9), can_call_beside(1.1e9))
cores = 1
print(can_call_beside(1e9))
"""
    assert run(code).stdout == "False\nTrue False\nFalse\n"
