"""The number formats that the processor of this machine supports natively, and what a process may use of it."""

import contextlib
import functools
import os
from pathlib import Path
from typing import Literal

_INFO = Path("/proc/cpuinfo")
# The control group of this process, and the folder of all groups.
_GROUP, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Dot products of bfloat16 with sums in float32: AMX of x86 processors, FEAT_BF16 of Arm's, and AVX-512 BF16, which
# had 0.6 times the speed of float32 on an Intel Xeon without AMX (docs/log.md), and is faster on AMD's.
_BFLOAT16, _AVX512, _INTEL = frozenset({"amx_bf16", "bf16"}), "avx512_bf16", "GenuineIntel"


@functools.cache
def native_precision() -> Literal["bfloat16", "float32"]:
    """The fastest precision for training that needs no other settings.

    It is bfloat16 where the processor multiplies it natively and faster than float32; else float32. On systems
    without `/proc/cpuinfo` it is float32.
    """
    try:
        parts = [line.partition(":") for line in _INFO.read_text().splitlines()]
    except OSError:
        return "float32"
    facts = {name.strip(): values.split() for name, _, values in reversed(parts)}
    flags = {*facts.get("flags", ()), *facts.get("Features", ())}
    is_fast = bool(_BFLOAT16 & flags) or (_AVX512 in flags and facts.get("vendor_id") != [_INTEL])
    return "bfloat16" if is_fast else "float32"


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
