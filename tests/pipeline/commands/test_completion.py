"""Completion scripts, each asked in its shell."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.commands.completion import SHELLS
from pipeline.commands.parser import make_parser

VERBS = {"bench", "compare", "describe", "diff", "doctor", "gc", "inspect", "ladder", "lineage", "predict", "report"}
VERBS |= {"run", "schema", "shrink", "status", "why"}


def _script(folder: Path, shell: str) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = folder / f"completion.{shell}"
    file.write_text(SHELLS[shell](make_parser()))
    return file


def _ask(*command: str, **environment: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def _ask_bash(folder: Path, line: str) -> set[str]:
    words = " ".join(f'"{word}"' for word in line.split(" "))
    code = f'COMP_WORDS=({words}); COMP_CWORD={line.count(" ")}; _keras_bert_edge; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return set(_ask("bash", "-c", f"source '{_script(folder, 'bash')}'; {code}"))


def _ask_fish(folder: Path, line: str) -> set[str]:
    code = f"source '{_script(folder, 'fish')}'; complete -C '{line}'"
    answers = _ask("fish", "--no-config", "-c", code, HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    return {answer.split("\t")[0] for answer in answers}


@pytest.mark.parametrize("ask", [_ask_bash, _ask_fish])
def test_verbs_and_options_are_completed(tmp_path: Path, ask) -> None:
    assert ask(tmp_path, "keras-bert-edge ") >= VERBS
    assert ask(tmp_path, "keras-bert-edge de") == {"describe"}
    assert ask(tmp_path, "keras-bert-edge shrink job.toml --m") == {
        "--max-megabytes",
        "--max-milliseconds",
        "--min-share",
        "--minutes",
    }
    assert ask(tmp_path, "keras-bert-edge --completion f") == {"fish"}


# Stands for what zsh's completion system does with the candidates.
ZSH = """
compdef() {{ }}
_describe() {{ print -rl -- ${{verbs%%:*}} }}
_arguments() {{ print -rl -- "$@" }}
source '{script}'
words=({words}) CURRENT={count}
_keras_bert_edge
"""


def _ask_zsh(folder: Path, *words: str) -> list[str]:
    code = ZSH.format(script=_script(folder, "zsh"), words=" ".join(f"'{word}'" for word in words), count=len(words))
    return _ask("zsh", "-f", "-c", code)


def test_zsh(tmp_path: Path) -> None:
    assert set(_ask_zsh(tmp_path, "keras-bert-edge", "")) == VERBS
    arguments = _ask_zsh(tmp_path, "keras-bert-edge", "diff", "")
    assert "*--root[the folder of runs and artifacts (default\\: runs)]:ROOT:_files" in arguments
    assert "*: :" in arguments, "its arguments are numbers"
    assert "*:file:_files" in _ask_zsh(tmp_path, "keras-bert-edge", "run", "")
    assert any(word.endswith("(bash zsh fish)") for word in _ask_zsh(tmp_path, "keras-bert-edge", "--"))


def test_the_option_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        make_parser().parse_args(["--completion", "bash"])
    assert capsys.readouterr().out == SHELLS["bash"](make_parser())
