"""Compiles the header with the programs of these tests."""

import subprocess
from pathlib import Path

import plugins.native.target

HERE, SOURCES = Path(__file__).parent, Path(plugins.native.target.__file__).parent
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_program(folder, *sources, flags=("-O2",), compiler="g++"):
    """Compiles sources of this folder, or of the plug-in's; returns the program's path. Warnings are errors."""
    program = folder / Path(sources[0]).stem
    paths = [str(HERE / name if (HERE / name).is_file() else SOURCES / name) for name in sources]
    command = [compiler, "-std=c++17", *WARNINGS, *flags, f"-I{SOURCES}", *paths, "-o", str(program), "-pthread"]
    subprocess.run(command, check=True)
    return program
