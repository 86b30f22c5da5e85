"""Reads a Dockerfile and runs its instructions one by one in a folder with a Debian system, by chroot."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

# Programs that download packages find the registries and certificates of this machine.
_MACHINE_FILES = ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
_MACHINE_FOLDERS = ("etc/apt/apt.conf.d", "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d")
_MACHINE_VARIABLES = re.compile(r"(?i)(https?|no)_proxy|SSL_CERT_(FILE|DIR)|PIP_(CERT|INDEX_URL|DEFAULT_TIMEOUT)")


class Instruction(NamedTuple):
    """One instruction: its name in capitals, and the text behind it."""

    name: str
    text: str


def read_instructions(text):
    """The instructions of a Dockerfile; a line that ends with a backslash goes on in the next one."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


@dataclasses.dataclass
class Folder:
    """A folder with a system, in which instructions are run; `close` unmounts what they needed.

    Attributes:
        path: the folder.
        context: the folder that COPY copies from.
        arguments: values of `--build-arg`.
        variables: of the environment, as ENV and ARG set them.
        directory: the working directory.
        user: user and group as numbers.
    """

    path: Path
    context: Path
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    variables: dict[str, str] = dataclasses.field(
        default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/sbin:/usr/sbin"}
    )
    directory: str = "/"
    user: str = "0:0"
    command: list[str] = dataclasses.field(default_factory=list)

    def run_instruction(self, instruction):
        """Runs one instruction.

        Raises:
            KeyError: the instruction is not one of those that this class can run.
        """
        getattr(self, f"_{instruction.name.lower()}")(instruction.text)

    def call(self, command, seconds=1800):
        """The output of a command in the folder, as the user that it has by now; it must not fail."""
        script = f"cd {shlex.quote(self.directory)} && exec {shlex.join(command)}"
        machine = {name: value for name, value in os.environ.items() if _MACHINE_VARIABLES.fullmatch(name)}
        done = subprocess.run(
            ["chroot", f"--userspec={self.user}", str(self.path), "/bin/sh", "-c", script],
            env=machine | self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-5000:]}"
        return done.stdout

    def close(self):
        """Unmounts `/proc` and `/dev`."""
        for name in ("proc", "dev"):
            subprocess.run(["umount", "--lazy", str(self.path / name)], check=False, capture_output=True)

    def _from(self, text):
        """Makes the system by debootstrap, from the mirror of this machine."""
        release = re.fullmatch(r"debian:(\w+)-slim", text)
        assert release, f"debootstrap makes Debian's images alone, got {text}"
        mirror = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
        ).stdout.split()[0]
        self.path.mkdir(parents=True)
        subprocess.run(["debootstrap", "--variant=minbase", release[1], str(self.path), mirror], check=True)
        for name in _MACHINE_FOLDERS:
            if Path("/", name).is_dir():
                shutil.copytree(Path("/", name), self.path / name, dirs_exist_ok=True)
        self._copy_machine_files()
        for name in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", f"/{name}", str(self.path / name)], check=True)
            subprocess.run(["mount", "--make-rslave", str(self.path / name)], check=True)

    def _copy_machine_files(self):
        for name in _MACHINE_FILES:
            if Path("/", name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path("/", name), self.path / name)

    def _run(self, text):
        self.call(["/bin/sh", "-c", text])
        self._copy_machine_files()

    def _env(self, text):
        for part in shlex.split(text):
            name, _, value = part.partition("=")
            self.variables[name] = re.sub(r"\$(\w+)", lambda match: self.variables.get(match[1], ""), value)

    def _arg(self, text):
        name, _, value = shlex.split(text)[0].partition("=")
        self.variables[name] = self.arguments.get(name, value)

    def _workdir(self, text):
        self.directory = text
        self._place(text).mkdir(parents=True, exist_ok=True)

    def _copy(self, text):
        *patterns, target = shlex.split(text)
        place = self._place(target)
        for pattern in patterns:
            sources = sorted(self.context.glob(pattern))
            assert sources, f"COPY {pattern}: there is no such file"
            for source in sources:
                if source.is_dir():
                    shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
                else:
                    shutil.copy(source, place)

    def _user(self, text):
        self.user = text

    def _cmd(self, text):
        self.command = json.loads(text)

    def _place(self, path):
        return self.path / os.path.join(self.directory, path).lstrip("/")
