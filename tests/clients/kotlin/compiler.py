"""Compiles Kotlin with the compiler that `make test-kotlin` fetches."""

import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

_COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"


def library(name: str, folder: Path | None = None) -> Path:
    """The `.jar` file of a library; that of an `.aar` file is taken out of it, into the folder."""
    assert "KOTLIN" in os.environ, "KOTLIN must be a folder of libraries; `make test-kotlin` makes one"
    (file,) = (path for path in Path(os.environ["KOTLIN"]).glob(f"{name}-[0-9]*.?ar"))
    if file.suffix == ".jar":
        return file
    assert folder is not None
    jar = folder / f"{file.stem}.jar"
    with zipfile.ZipFile(file) as content:
        jar.write_bytes(content.read("classes.jar"))
    return jar


def compile_kotlin(sources: Sequence[Path], folder: Path, libraries: Sequence[Path] = ()) -> Path:
    """Compiles sources into a folder of classes; warnings are errors."""
    # Without the stubs of Android's classes, which throw.
    jars = (jar for jar in Path(os.environ["KOTLIN"]).glob("*.jar") if not jar.name.startswith("android"))
    compiler = os.pathsep.join(map(str, jars))
    classpath = os.pathsep.join(map(str, [library("kotlin-stdlib"), *libraries]))
    options = ["-no-stdlib", "-no-reflect", "-Werror", "-classpath", classpath, "-d", str(folder)]
    subprocess.run(["java", "-cp", compiler, _COMPILER, *map(str, sources), *options], check=True)
    return folder


def program(main: str, *classpath: Path) -> list[str]:
    """The command that runs a compiled file."""
    return ["java", "-cp", os.pathsep.join(map(str, [library("kotlin-stdlib"), *classpath])), main]
