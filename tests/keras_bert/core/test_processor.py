import os

import pytest

from keras_bert.core import processor
from keras_bert.core.processor import native_precision, usable_memory, usable_processors

X86 = "processor\t: 0\nflags\t\t: fpu {}\n\nprocessor\t: 1\nflags\t\t: fpu {}\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd {}\n"


@pytest.fixture
def info(tmp_path, monkeypatch):
    """The file that the system tells of its processor in; nobody has asked before."""
    monkeypatch.setattr(processor, "_INFO", tmp_path / "cpuinfo")
    native_precision.cache_clear()
    yield tmp_path / "cpuinfo"
    native_precision.cache_clear()


@pytest.mark.parametrize(
    ("expected", "precision"),
    [
        (X86.format("avx512f avx512_bf16", "avx512f avx512_bf16"), "bfloat16"),
        ("vendor_id\t: AuthenticAMD\n" + X86.format("avx512_bf16", "avx512_bf16"), "bfloat16"),
        ("vendor_id\t: GenuineIntel\n" + X86.format("avx512_bf16", "avx512_bf16"), "float32"),
        ("vendor_id\t: GenuineIntel\n" + X86.format("avx512_bf16 amx_bf16", "avx512_bf16 amx_bf16"), "bfloat16"),
        (X86.format("avx2 amx_bf16 amx_tile", "avx2 amx_bf16 amx_tile"), "bfloat16"),
        (X86.format("avx2 fma", "avx2 fma"), "float32"),
        (X86.format("avx512f avx512_bf16_not", "avx512f"), "float32"),
        (ARM.format("i8mm bf16"), "bfloat16"),
        (ARM.format("ebf16x svebf16"), "float32"),
        ("model name\t: avx512_bf16\n", "float32"),
        ("", "float32"),
    ],
)
def test_flags_decide(info, expected, precision):
    info.write_text(expected)
    assert native_precision() == precision


def test_a_system_that_does_not_tell(info):
    assert not info.exists()
    assert native_precision() == "float32"


def test_the_processor_is_asked_once(info):
    info.write_text(ARM.format("bf16"))
    assert native_precision() == "bfloat16"
    info.unlink()
    assert native_precision() == "bfloat16"


@pytest.mark.parametrize(
    ("quota", "count"),
    [("max 100000", 6), ("150000 100000", 2), ("10000 100000", 1), ("1600000 100000", 6), ("", 6), (None, 6)],
)
def test_the_quota_of_a_container_bounds_its_processors(tmp_path, monkeypatch, quota, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr(processor, "_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(processor, "_GROUPS", tmp_path)
    if quota is not None:
        (tmp_path / "cgroup").write_text("1:name=systemd:/other\n0::/job/step\n")
        (tmp_path / "job/step").mkdir(parents=True)
        (tmp_path / "job/step/cpu.max").write_text(f"{quota}\n")
    assert usable_processors() == count


@pytest.mark.parametrize(("limit", "usable"), [("1000000", 1_000_000), ("max", 4 << 30), ("9999999999", 4 << 30)])
def test_the_limit_of_a_container_bounds_its_memory(tmp_path, monkeypatch, limit, usable):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 20}.get)
    monkeypatch.setattr(processor, "_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(processor, "_GROUPS", tmp_path)
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    assert usable_memory() == usable
