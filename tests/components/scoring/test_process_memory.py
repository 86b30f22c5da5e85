"""The resident memory of a process."""

import mmap
from pathlib import Path

import pytest

from components.scoring import process_memory
from components.scoring.process_memory import peak_megabytes, reset_peak, resident_megabytes


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone counts it")
def test_a_peak_is_kept_until_it_is_reset():
    reset_peak()
    before = resident_megabytes()
    block = mmap.mmap(-1, 64_000_000)
    block.write(b"x" * len(block))
    block.close()
    peak = peak_megabytes()
    reset_peak()
    after = peak_megabytes()
    assert before is not None
    assert peak is not None
    assert after is not None
    assert peak - before > 60
    assert peak - after > 60


def test_a_megabyte_is_a_million_bytes(monkeypatch, tmp_path):
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t 1000000 kB\nVmRSS:\t   500000 kB\n")  # of 1,024 bytes each
    monkeypatch.setattr(process_memory, "_STATUS", status)
    assert (resident_megabytes(), peak_megabytes()) == (512.0, 1024.0)


def test_another_system_has_no_figure(monkeypatch, tmp_path):
    monkeypatch.setattr(process_memory, "_STATUS", tmp_path / "status")
    reset_peak()
    assert (resident_megabytes(), peak_megabytes()) == (None, None)
