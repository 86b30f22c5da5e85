"""Processors that Debian's `qemu-user` emulates, and the reasons why one cannot be emulated on this machine."""

import functools
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from components.dsl.errors import InputError

ProcessorName = Literal["x86-64-v2", "haswell", "skylake-avx512", "cortex-a53", "cortex-a76", "neoverse-n1"]
DEFAULT_PROCESSORS: tuple[ProcessorName, ...] = ("x86-64-v2", "haswell")
AARCH64_FOLDER = "build/aarch64"
# Of MiniLM on a Neoverse N1 the median row differs by 1e-7, on a Haswell on which a file saturates by 0.13.
MAX_DIFFERENCE = 0.01
_WORKER = Path(__file__).with_name("worker.py")
# "warning: TCG doesn't support requested feature: CPUID.07H:EBX.avx512f [bit 16]". Instructions of numbers decide which
# kernels a runtime takes; others, such as those of transactions, do not.
_LACKS = re.compile(r"support requested feature: CPUID\.[\w:]+\.((?:avx|sse|fma|f16c|amx)\w*)")
_SECONDS = 60


class Processor(NamedTuple):
    """A processor of the emulator.

    Attributes:
        architecture: the end of the emulator's name, as in `qemu-x86_64`.
        model: the emulator's name of the processor.
        part: on Arm, what Linux says of its design: the number of the design and the features.
    """

    architecture: str
    model: str
    part: tuple[str, str] = ("", "")


_ARMV8 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"
_ARMV82 = f"{_ARMV8} atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp"
PROCESSORS: dict[str, Processor] = {
    # SSE4.2, without AVX.
    "x86-64-v2": Processor("x86_64", "Nehalem"),
    # AVX2, without VNNI.
    "haswell": Processor("x86_64", "Haswell"),
    # AVX-512, without VNNI.
    "skylake-avx512": Processor("x86_64", "Skylake-Server"),
    # Without dot products of int8.
    "cortex-a53": Processor("aarch64", "cortex-a53", ("0xd03", _ARMV8)),
    # With dot products of int8.
    "cortex-a76": Processor("aarch64", "cortex-a76", ("0xd0b", _ARMV82)),
    "neoverse-n1": Processor("aarch64", "neoverse-n1", ("0xd0c", _ARMV82)),
}
assert PROCESSORS.keys() == {*get_args(ProcessorName)}


def make_command(name: str, aarch64: str, folder: Path) -> list[str]:
    """The command that starts the worker on a processor; the path of a model file is its last argument.

    `aarch64` is the folder of a Python for aarch64, and `folder` an empty one for the files of the processor's system.
    """
    processor = PROCESSORS[name]
    command = [f"qemu-{processor.architecture}", "-cpu", processor.model]
    if processor.architecture == "x86_64":
        return [*command, "-E", f"PYTHONPATH={_join_paths()}", sys.executable, str(_WORKER)]
    root = Path(aarch64).absolute()
    _write_system(root / "sysroot", folder, processor)
    site = f"PYTHONPATH={root / 'site'}"
    return [*command, "-E", site, "-L", str(folder), str(root / "sysroot/usr/bin/python3.11"), str(_WORKER)]


def find_obstacle(name: str, aarch64: str) -> str | None:
    """The reason why a processor cannot be emulated on this machine, with the way out; None if there is none."""
    processor = PROCESSORS[name]
    emulator = f"qemu-{processor.architecture}"
    if shutil.which(emulator) is None:
        return f"{name} needs {emulator}, which is not on this machine: apt-get install qemu-user"
    if processor.architecture == "x86_64" and platform.machine() != "x86_64":
        return (
            f"{name} is only emulated on x86-64, as it runs the Python of this machine, which is {platform.machine()}"
        )
    if processor.architecture == "aarch64" and not (Path(aarch64) / ".ready").is_file():
        return (
            f"{name} needs a folder with a Python for aarch64, which {aarch64} is not: "
            f"{Path(__file__).with_name('make_aarch64.sh')} {aarch64} {sys.executable} makes it"
        )
    return _probe(name, aarch64)


@functools.cache
def _probe(name: str, aarch64: str) -> str | None:
    """Asks the emulator for a processor, without a model."""
    processor = PROCESSORS[name]
    program = sys.executable if processor.architecture == "x86_64" else f"{aarch64}/sysroot/usr/bin/python3.11"
    prefix = [] if processor.architecture == "x86_64" else ["-L", f"{aarch64}/sysroot"]
    command = [f"qemu-{processor.architecture}", "-cpu", processor.model, *prefix, program, "-S", "-c", ""]
    try:
        # Both are programs of this machine, and the arguments are not the user's.
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"{name} cannot be emulated here: {command[0]} did not end within {_SECONDS} seconds"
    if lacking := _LACKS.findall(done.stderr):
        return (
            f"{name} cannot be emulated here: {command[0]} has no {', '.join(lacking)}; leave {name} out, or "
            "install an emulator that has them"
        )
    if done.returncode:
        reason = " ".join(done.stderr.split())[:200] or f"it ended with {done.returncode}"
        return f"{name} cannot be emulated here: {reason}; leave {name} out, or install a newer qemu-user"
    return None


def check_processor(name: str, aarch64: str) -> None:
    """Raises InputError with the reason of `find_obstacle`."""
    if obstacle := find_obstacle(name, aarch64):
        raise InputError(f"processors: {obstacle}")


def _join_paths() -> str:
    return ":".join(path for path in sys.path if path)


def _write_system(sysroot: Path, folder: Path, processor: Processor) -> None:
    """Links the system of an aarch64 into a folder, with the description of another processor.

    XNNPACK takes dot products from the number of the design rather than from what the processor says, and would end
    with an illegal instruction on one that lacks them.
    """
    for entry in sysroot.iterdir():
        if entry.name != "proc":
            (folder / entry.name).symlink_to(entry)
    (folder / "proc").mkdir()
    part, features = processor.part
    lines = {
        "processor": "0",
        "Features": features,
        "CPU implementer": "0x41",
        "CPU architecture": "8",
        "CPU variant": "0x3",
        "CPU part": part,
        "CPU revision": "1",
    }
    text = "".join(f"{key}\t: {value}\n" for key, value in lines.items())
    (folder / "proc/cpuinfo").write_text(text, encoding="utf-8")
