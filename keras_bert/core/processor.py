"""The number formats that the processor of this machine supports natively, and how many processors may be used."""

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
    # Without a quota, "max" is no number.
    with contextlib.suppress(OSError, ValueError):
        group = _GROUP.read_text().partition("0::/")[2].strip()
        quota, period = (_GROUPS / group / "cpu.max").read_text().split()
        count = min(count, max(1, round(int(quota) / int(period))))
    return count
