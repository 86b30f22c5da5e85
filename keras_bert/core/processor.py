"""The number formats that the processor of this machine supports natively."""

import functools
from pathlib import Path
from typing import Literal

_INFO = Path("/proc/cpuinfo")
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
