"""Compiles Kotlin with the compiler that `make test-kotlin` fetches."""

import os
import subprocess
from pathlib import Path

_COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"


def library(name):
    """The `.jar` file of a library."""
    assert "KOTLIN" in os.environ, "KOTLIN must be a folder of libraries; `make test-kotlin` makes one"
    (file,) = Path(os.environ["KOTLIN"]).glob(f"{name}-[0-9]*.jar")
    return file


def compile_kotlin(sources, folder, libraries=(), *, strict=True):
    """Compiles sources into a folder of classes; warnings are errors where they are strict."""
    # Without the stubs of Android's classes, which throw.
    jars = (jar for jar in Path(os.environ["KOTLIN"]).glob("*.jar") if not jar.name.startswith("android"))
    compiler = os.pathsep.join(map(str, jars))
    classpath = os.pathsep.join(map(str, [library("kotlin-stdlib"), *libraries]))
    options = ["-no-stdlib", "-no-reflect", *(["-Werror"] if strict else ["-nowarn"]), "-classpath", classpath]
    subprocess.run(["java", "-cp", compiler, _COMPILER, *map(str, sources), *options, "-d", str(folder)], check=True)
    return folder


def program(main, *classpath):
    """The command that runs a compiled file."""
    return ["java", "-cp", os.pathsep.join(map(str, [library("kotlin-stdlib"), *classpath])), main]
