"""Runs a step in a process that a program starts, such as `srun`, `ssh` or a container runtime, perhaps elsewhere."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from components.dsl.errors import InputError
from components.dsl.heartbeat import Heartbeat
from components.dsl.step_folders import StepFolders
from pipeline.orchestrator.executor import GRACE_SECONDS, Child
from pipeline.orchestrator.mailbox import BEAT_SECONDS, LOST_SECONDS, LauncherBeat, Mailbox, ProcessBeat, StepRequest
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import Outcome, outcome_of_exit
from pipeline.orchestrator.step_command import step_command
from pipeline.orchestrator.step_process import signal_group

# Shells, srun and container runtimes report a signal as an exit code above this.
_SIGNAL_CODES = 128
# The outcome may show on a network file system after the end of the program.
_SETTLE_SECONDS = 2.0
# Programs end some time after the process that they started.
_PROGRAM_SECONDS = 10.0
_POLL_SECONDS = 0.1
_CRASHES = frozenset((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS))


class LaunchedChild(Child):
    """A process that a program starts, see `Child`; it and the program end when this object does."""

    def __init__(
        self,
        prefix: Sequence[str],
        python: str,
        request: StepRequest,
        arguments: Mapping[str, Any],
        folders: StepFolders,
        folder: Path,
        watcher: Watcher,
    ) -> None:
        self._program, self._log, self._watcher = prefix[0], Path(request.log), watcher
        self._mailbox = Mailbox(folder)
        self._mailbox.write_request(request, arguments, folders)
        self._beat_number, self._should_end = 0, False
        self._write_beat()
        self._last: ProcessBeat | None = None
        self._exit_time: float | None = None
        self._has_ended = False
        command = [*prefix, *step_command(python or sys.executable, self._mailbox.request_file)]
        self._output: IO[bytes] = (folder / "output").open("w+b")
        try:
            self._process = subprocess.Popen(  # noqa: S603, the user's own program
                command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            self._output.close()
            raise InputError(
                f"machine.launch must begin with a program that can be run, got {self._program!r}: {error.strerror}"
            ) from None
        self._heartbeat = Heartbeat(self._write_beat, BEAT_SECONDS)

    def end(self, grace: float = GRACE_SECONDS) -> None:
        """Ends the process, if it is running, and the program; waits until the process is gone or lost."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._mailbox.read_outcome() is None:
            self.terminate()
            self._wait_for_program(grace)
        else:
            self._wait_for_program(_PROGRAM_SECONDS)
        if self._process.poll() is None:
            signal_group(self._process.pid, signal.SIGTERM)
            self._wait_for_program(_PROGRAM_SECONDS)
        signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._wait_for_silence()
        self._heartbeat.stop()
        # The process has written the log by itself, the program has not.
        self._output.seek(0)
        with self._output, contextlib.suppress(OSError), self._log.open("ab") as log:
            log.write(self._output.read())

    def terminate(self) -> None:
        """Requests that the process saves a checkpoint and ends; a program that has not started it is ended at once."""
        self._should_end = True
        self._heartbeat.beat_now()
        if self._process.poll() is None and self._mailbox.read_process_beat() is None:
            signal_group(self._process.pid, signal.SIGTERM)

    def waitables(self) -> list[Any]:
        return []

    def receive(self, ready: Sequence[Any]) -> Outcome | None:
        self._watcher.tick()
        code = self._process.poll()
        beat = self._mailbox.read_process_beat()
        if beat is None:
            self._watcher.progress(0.0, 0.0, f"waiting for {self._program}")
        elif beat != self._last:
            self._watcher.progress(beat.done, beat.total, beat.note)
        self._last = beat or self._last
        outcome = self._mailbox.read_outcome()
        if outcome is not None or code is None:
            return outcome
        now = time.monotonic()
        self._exit_time = self._exit_time or now
        return self._outcome_of_exit(code) if now - self._exit_time > _SETTLE_SECONDS else None

    def _outcome_of_exit(self, code: int) -> Outcome:
        """The outcome of a program that ended although the process reported none."""
        number = -code if code < 0 else code - _SIGNAL_CODES
        is_signal = number in set(signal.Signals)
        if self._last is None:
            status = f"status {code}" if code >= 0 else signal.Signals(-code).name
            lines = (self._mailbox.folder / "output").read_text(encoding="utf-8", errors="replace").split("\n")
            last_line = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
            return Outcome("unstarted", f"{self._program} ended with {status}: {last_line}")
        if code == 0:
            return Outcome("unstarted", f"{self._program} ended before the step; it must wait for it")
        if is_signal:
            outcome = outcome_of_exit(-number)
            return outcome._replace(kind="crash" if signal.Signals(number) in _CRASHES else "transient")
        return Outcome("transient", f"was lost: {self._program} ended with status {code} before the step was done")

    def _wait_for_program(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _wait_for_silence(self) -> None:
        """Waits until a process that may still run where the program left it has reported its end, or is silent."""
        beat, since = self._mailbox.read_process_beat(), time.monotonic()
        deadline = since + LOST_SECONDS
        while beat is not None and self._mailbox.read_outcome() is None and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            newest = self._mailbox.read_process_beat()
            if newest != beat:
                beat, since = newest, time.monotonic()
            elif time.monotonic() - since > 3 * BEAT_SECONDS:
                return

    def _write_beat(self) -> None:
        self._beat_number += 1
        self._mailbox.write_launcher_beat(LauncherBeat(self._beat_number, self._should_end))
