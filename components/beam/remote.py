"""Runners whose workers are elsewhere: what is checked before work starts, and what their errors mean."""

import re
import socket
from collections.abc import Callable
from typing import Any

from components.dsl.errors import InputError

# Options of Beam that name a server, and the port without one in the name.
_SERVERS = ("job_endpoint", "flink_master", "spark_master_url")
# Job servers that start an engine by themselves.
_NO_SERVER = re.compile(r"\[(local|auto)\]|local(\[.+\])?|embed")
_SECONDS = 10
_OTHER_PROJECT = "the workers of Beam must have this very project installed"
# Errors of a worker after which a step may be tried again; other processes only send their names.
_REPEATABLE = {kind.__name__: kind for kind in (ConnectionError, TimeoutError, MemoryError)}
# Prism: "SDK worker disconnected"; Flink and Spark pass on gRPC's status of a lost worker.
_LOST_WORKER = re.compile(r"SDK worker disconnected|StatusRuntimeException: (UNAVAILABLE|CANCELLED)")


def check_servers(options: dict[str, Any]) -> None:
    """Connects to the servers that Beam's options name; Beam itself would wait for a minute or more."""
    for name in _SERVERS:
        address = str(options.get(name) or "")
        if not address or _NO_SERVER.fullmatch(address):
            continue
        host, _, port = re.sub(r"^\w+://", "", address).rstrip("/").rpartition(":")
        way_out = "start it, or correct [beam.options]"
        if not host or not port.isdecimal():
            raise InputError(f"BeamOptions.options.{name} must be host:port, got {address!r}; {way_out}")
        try:
            socket.create_connection((host, int(port)), _SECONDS).close()
        except (OSError, OverflowError) as error:
            raise InputError(f"BeamOptions.options.{name} must answer, got {address!r}: {error}; {way_out}") from None


def make_project_check() -> Callable[[Any], Any]:
    """A function that passes elements on and fails in a process whose project differs from this one's.

    The version alone is not proof, as two commits may share it. Beam sends nested functions by value: so this one runs
    where another version of the project is installed, or none.
    """

    def digest_project() -> str:
        import hashlib
        import importlib.util
        from pathlib import Path

        digest = hashlib.sha256()
        for package in ("components", "keras_bert"):
            spec = importlib.util.find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                return "none"
            folder = Path(spec.submodule_search_locations[0])
            for file in sorted(folder.rglob("*.py"), key=lambda file: file.relative_to(folder).as_posix()):
                digest.update(f"{package}/{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes())
        return digest.hexdigest()[:12]

    expected, actual = digest_project(), list[str]()
    rule = _OTHER_PROJECT

    def check(element: Any) -> Any:
        if not actual:
            actual.append(digest_project())
        if actual[0] != expected:
            import socket

            place = f"{actual[0]} on {socket.gethostname()}"
            raise RuntimeError(f"{rule} (code {expected}), got {place}; pip install --force-reinstall its wheel there")
        return element

    return check


def translate_error(error: Exception, runner: str) -> Exception:
    """The error that says what happened, for the error that a runner passes on from another process."""
    text = str(error)
    if _OTHER_PROJECT in text:
        return InputError(text[text.index(_OTHER_PROJECT) :].splitlines()[0].split(" [while running")[0])
    if _LOST_WORKER.search(text):
        return ConnectionError(f"the Beam pipeline on {runner} lost a worker: {text.splitlines()[0]}")
    if text.startswith("Traceback"):
        last = text.rstrip().splitlines()[-1]
        name, _, message = last.partition(": ")
        return _REPEATABLE[name](message) if name in _REPEATABLE else RuntimeError(last)
    return error
