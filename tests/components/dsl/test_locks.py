"""File systems without locks: work goes on, and what would need a lock to be safe is left undone."""

import errno
from pathlib import Path

import pytest

from components.dsl.locks import folder_locked, lock_file
from pipeline.orchestrator.root import locked_root


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP])
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(request.param, f"error {request.param}")

    monkeypatch.setattr("components.dsl.locks.fcntl.flock", flock)


@pytest.mark.usefixtures("no_locks")
def test_work_goes_on_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with locked_root(tmp_path / "root") as root, (tmp_path / "lock").open("a+") as lock:
        assert not lock_file(lock, without_locks=False), "nothing that others may read is removed"
        root.remove()
        assert root.path.is_dir()
    with folder_locked(tmp_path) as is_locked:
        assert not is_locked
    (message,) = caplog.messages
    assert message.startswith("a file system has no locks (error ")


def test_other_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr("components.dsl.locks.fcntl.flock", flock)
    with (tmp_path / "lock").open("a+") as lock, pytest.raises(OSError, match="Bad file"):
        lock_file(lock)
