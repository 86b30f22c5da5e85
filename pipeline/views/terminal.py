"""Prints the progress of a run: a line for every step, and a live line with the time left while it runs."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from components.text.escaping import escape_terminal
from pipeline.orchestrator.observer import Estimate, Observer, StepState, Watcher

PLAIN_AFTER_SECONDS = 5.0
PLAIN_EVERY_SECONDS = 10.0

# Columns, more than any table has.
_WIDE = 200

# Seconds if nothing else runs on the machine, and seconds now.
GuessSeconds = Callable[[], tuple[float, float] | None]


class LiveLines:
    """The live lines of the running steps, one below the other."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: list[StepLine] = []
        self._live: Live | None = None

    def draw(self, line: "StepLine", now: float) -> None:
        """Draws all lines, including `line`, which is added if it is new."""
        if line not in self._lines:
            self._lines.append(line)
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self._texts(now), refresh=True)

    def remove(self, line: "StepLine") -> None:
        """Removes a line."""
        if self._live is None or line not in self._lines:
            return
        self._lines.remove(line)
        if self._lines:
            self._live.update(self._texts(time.monotonic()), refresh=True)
        else:
            self._live.stop()
            self._live = None

    def _texts(self, now: float) -> Group:
        return Group(
            *(Text(escape_terminal(line.text(now)), no_wrap=True, overflow="ellipsis") for line in self._lines)
        )


class StepLine(Watcher):
    """The line of one step, `expected` seconds long; a context manager that clears the live line at its end.

    If the console is not a terminal, plain lines are written from time to time. A step that runs alone needs no
    `live_lines`.
    """

    def __init__(
        self, console: Console, title: str, expected: float | None, live_lines: LiveLines | None = None
    ) -> None:
        self._console = console
        self._live_lines = live_lines or LiveLines(console)
        self._title = title
        self._expected = expected
        self._began = time.monotonic()
        self._baseline: tuple[float, float] | None = None
        self._reached: tuple[float, float] | None = None
        self._note = ""
        self._next_plain = self._began + PLAIN_AFTER_SECONDS

    def __exit__(self, *_: object) -> None:
        self._live_lines.remove(self)

    def progress(self, done: float, total: float, note: str) -> None:
        """Receives the progress of the step; a smaller share than before, or a total of 0, restarts the estimate."""
        self._note = note
        if total <= 0:
            self._baseline = None
            return
        share = min(max(done / total, 0.0), 1.0)
        begins = self._baseline is None or self._reached is None or share < self._reached[1]
        self._reached = (time.monotonic(), share)
        if begins:
            self._baseline = self._reached

    def tick(self) -> None:
        now = time.monotonic()
        if not self._console.is_terminal:
            if now >= self._next_plain:
                self._next_plain = now + PLAIN_EVERY_SECONDS
                write(self._console, self.text(now))
        else:
            self._live_lines.draw(self, now)

    def text(self, now: float) -> str:
        """The text of the line at a time of the monotonic clock."""
        parts = [f"{self._title}  {format_seconds(now - self._began)}"]
        if self._reached is not None:
            # Rounded down, so that 100 % is the end; the addition makes up for rounding errors.
            parts.append(f"{math.floor(100 * self._reached[1] + 1e-9)}%")
        left = self._seconds_left(now)
        if left is not None:
            parts.append(f"about {format_seconds(left)} left")
        if self._note:
            parts.append(self._note)
        return ", ".join(parts)

    def _seconds_left(self, now: float) -> float | None:
        if self._reached is not None and self._baseline is not None:
            seconds, share = (self._reached[i] - self._baseline[i] for i in (0, 1))
            if share > 0 and seconds > 0:
                left = (1 - self._reached[1]) * seconds / share - (now - self._reached[0])
                # A step that takes longer than expected gives no estimate.
                return left if left > 0 else None
        if self._expected is not None and self._expected > now - self._began:
            return self._expected - (now - self._began)
        return None


class Terminal(Observer):
    """The lines of one run."""

    def __init__(self, console: Console, guess_seconds: GuessSeconds = lambda: None) -> None:
        self._console = console
        self._guess_seconds = guess_seconds
        self._running = LiveLines(console)

    def begin(self, names: Sequence[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(names, start=1)}
        self._width = max(map(len, names))

    def estimated(self, estimate: Estimate) -> None:
        self.say(describe_estimate(estimate, self._guess_seconds))

    def step(self, name: str, expected: float | None, record: Path) -> StepLine:
        return StepLine(self._console, self._title(name), expected, self._running)

    def finished(self, name: str, state: StepState, seconds: float) -> None:
        took = format_seconds(seconds)
        results = {"ran": took, "failed": f"failed after {took}", "refused": f"refused after {took}"}
        self.say(f"{self._title(name)}  {results.get(state, state)}")

    def say(self, text: str) -> None:
        write(self._console, text)

    def _title(self, name: str) -> str:
        total = str(len(self._numbers))
        return f"[{self._numbers[name]:>{len(total)}}/{total}] {name:<{self._width}}"


def open_console() -> Console:
    """The console of this process; if it is not a terminal, it is wide enough for all tables."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDE
    return console


def write(console: Console, text: str, style: str = "") -> None:
    """Writes a line as it is: no markup, no emoji codes, no wrapping, control characters written out."""
    console.print(Text(escape_terminal(text), style=style), soft_wrap=True)


def write_warnings(console: Console, warnings: Iterable[str]) -> None:
    """Writes warnings, a line each, red on a terminal."""
    for text in warnings:
        write(console, f"warning: {text}", "red")


def cells(*texts: str) -> list[Text]:
    """Cells of a table as they are: rich reads `[neg]` or `:cat:` in a plain string as its own language."""
    return [Text(escape_terminal(text)) for text in texts]


def format_time(seconds: float) -> str:
    """A time since the epoch, as clocks here show it: `2026-11-23 05:09:37`."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def describe_estimate(estimate: Estimate, guess_seconds: GuessSeconds) -> str:
    """How long the steps take that are not cached, and where that number comes from."""
    if not estimate.measured:
        seconds = guess_seconds()
        reason = "this job ran none of these steps in this root before; each step shows its time left"
        if seconds is None:
            return f"time: no estimate, as {reason}"
        speed = "from the sizes of its trainings and the speed of this machine"
        return f"time: about {format_minutes(*seconds)} for the whole job, a guess {speed}, as {reason}"
    basis = "the sum of what each step of this job took last time in this root"
    text = f"time: about {format_seconds(estimate.seconds)}, {basis}"
    if estimate.unmeasured:
        text += f"; without {', '.join(estimate.unmeasured)}, which it never ran here"
    return text


def format_minutes(alone: float, now: float) -> str:
    """A rough duration in words: `1 minute`, `12 minutes`, `27 to 71 minutes (this machine is busy)`."""
    fewest, most = (max(1, round(seconds / 60)) for seconds in (alone, now))
    if fewest < most:
        return f"{fewest} to {most} minutes (this machine is busy)"
    return f"{most} minute{'s' if most > 1 else ''}"


def format_seconds(seconds: float) -> str:
    """A duration in words: `4.2 s`, `45 s`, `3 min 05 s`, `1 h 02 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextlib.contextmanager
def native_logs_hidden() -> Iterator[None]:
    """Hides start-up notes of C++ libraries, which no setting silences, from the terminal."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
