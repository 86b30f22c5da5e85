"""The number formats that the processor of this machine supports natively, and what a process may use of it."""

import contextlib
import functools
import os
from pathlib import Path
from typing import Literal

_INFO = Path("/proc/cpuinfo")
# The control group of this process, and the folder of all groups.
_GROUP, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Dot products of bfloat16 with sums in float32: AVX-512 BF16 and AMX of x86 processors, FEAT_BF16 of Arm's.
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


@functools.cache
def native_precision() -> Literal["bfloat16", "float32"]:
    """The fastest precision for training that needs no other settings.

    It is bfloat16 where the processor multiplies it natively, about twice as fast as float32 or more; else float32,
    which would emulate bfloat16. On systems without `/proc/cpuinfo` it is float32.
    """
    try:
        lines = _INFO.read_text().splitlines()
    except OSError:
        return "float32"
    for line in lines:
        name, _, values = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return "bfloat16" if _BFLOAT16 & set(values.split()) else "float32"
    return "float32"


def usable_processors() -> int:
    """The number of processors that this process may use; in a container, those that its quota of time amounts to."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _read_limit("cpu.max")
    return min(count, max(1, round(quota[0] / quota[1]))) if quota else count


def usable_memory() -> int:
    """The bytes of memory that this process may use; in a container, its limit."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_read_limit("memory.max")])


def _read_limit(name: str) -> list[int]:
    """The numbers of a limit of this process's control group; empty without one, which the file calls "max"."""
    with contextlib.suppress(OSError, ValueError):
        group = _GROUP.read_text().partition("0::/")[2].strip()
        return [int(number) for number in (_GROUPS / group / name).read_text().split()]
    return []
