"""Every block of code and every command of README.md, CONTRIBUTING.md and docs/ holds, or says why it is not run."""

import json
import re
import tomllib
from collections import defaultdict

import pytest

from keras_bert.interop.hugging_face import to_hugging_face
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from pipeline.job.files import make_settings, read_tables
from tests.docs.blocks import PAGES, REPOSITORY, command_lines, read_blocks, read_inline_code
from tests.docs.commands import check_command, raises
from tests.hub import hub
from tests.keras_bert.tiny import tiny_config

__all__ = ["hub"]

# What a part of a job goes with.
REST_OF_A_JOB = 'checkpoint.path = "checkpoint"\ncorpus.path = "texts"\nexamples.train = "train.tsv"\n'
# Of these no part is run: what commands print, and what stands in a file that is not code.
OUTPUT = ("text",)
COMMANDS = ("console", "sh")
# A file or a folder of the repository.
FILE = re.compile(r"(?:benchmarks|components|docs|keras_bert|pipeline|plugins|tests)/[a-z0-9_/]+(?:\.(?:py|md|toml))?")
PROGRAMS = ("keras-bert-edge ", ".venv/bin/keras-bert-edge ", "make ", "python -m ")

BLOCKS = [
    block
    for page in PAGES
    for block in read_blocks(page.read_text(encoding="utf-8"), page.relative_to(REPOSITORY).as_posix())
]
RUN = [block for block in BLOCKS if block.reason is None]
PYTHON = defaultdict(list)
for _block in RUN:
    if _block.language == "python":
        PYTHON[_block.page].append(_block)


def of(*languages):
    return [block for block in RUN if block.language in languages]


def test_each_block_is_of_a_kind_that_is_tested_or_says_why_not():
    others = [str(block) for block in RUN if block.language not in (*OUTPUT, *COMMANDS, "python", "toml")]
    assert others == [], "name the language, or write `<!-- not run: WHY -->` above the block"


def add_checkpoint(hub):
    """Puts the repositories that the pages name on a hub; weights are not read before a run."""
    sizes = {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "max_position_embeddings": 512}
    config = json.dumps({"model_type": "bert", "vocab_size": len(SPECIAL_TOKENS), **sizes}).encode()
    texts = {"config.json": config, "vocab.txt": "\n".join(SPECIAL_TOKENS).encode()}
    for repository in ("sentence-transformers/all-MiniLM-L6-v2", "cross-encoder/ms-marco-MiniLM-L6-v2"):
        hub.add(repository, {**texts, "model.safetensors": b""})
    hub.add("datasets/OWNER/NAME", {"README.md": b""})


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_settings_are_valid(block, tmp_path, request):
    if "hf://" in block.code:
        add_checkpoint(request.getfixturevalue("hub"))
    tables = tomllib.loads(block.code)
    is_job = "checkpoint" in tables or "encoder" in tables
    (tmp_path / "rest.toml").write_text("" if is_job else REST_OF_A_JOB)
    (tmp_path / "job.toml").write_text(f'extends = "rest.toml"\n{block.code}')
    make_settings(read_tables(tmp_path / "job.toml"))


@pytest.mark.parametrize("block", of(*COMMANDS), ids=str)
def test_commands_are_valid(block):
    for line in command_lines(block.code):
        check_command(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_the_text_names_are_there(page):
    names = [code for code in read_inline_code(page.read_text(encoding="utf-8")) if FILE.fullmatch(code)]
    assert [name for name in names if not (REPOSITORY / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_text_are_valid(page):
    for code in read_inline_code(page.read_text(encoding="utf-8")):
        if code.startswith(PROGRAMS):
            check_command(code)


def make_checkpoint(folder):
    """A folder as transformers writes it, of random weights, that takes rows of 128 tokens."""
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *"abcdefghijklmnopqrstuvwxyz?."], lowercase=True)
    config = tiny_config(num_layers=6, max_length=128, vocabulary_size=tokenizer.vocabulary_size)
    to_hugging_face(Embedding.build(build_encoder(config), tokenizer, max_length=128), folder)


@pytest.mark.long
@pytest.mark.parametrize("page", PYTHON)
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page run one after the other, beside a tiny checkpoint."""
    monkeypatch.chdir(tmp_path)
    make_checkpoint(tmp_path / "sentence-transformers" / "all-MiniLM-L6-v2")
    names = {"texts": ["a good film", "a dull film"] * 8, "labels": ["positive", "negative"] * 8}
    for block in PYTHON[page]:
        exec(compile("\n" * block.line + block.code, page, "exec"), names)


def test_a_command_that_would_be_refused_is_found():
    raises("keras-bert-edge search a.toml --max-gigabytes 3", "the parser refuses")
    raises("keras-bert-edge trian a.toml", "the parser refuses.*There is no command")
    raises("make runs", "no target")
    raises("python -m benchmarks.train --speed", "has no option --speed")
    raises("python -m benchmarks.trains", "there is no module")
    raises("pip install keras", "mark it")


def test_blocks_are_read_with_their_markers():
    marked = "<!-- not run: no server -->\n```console\n$ x \\\n  y\nout\n```\n"
    text = f"a\n\n{marked}\n1. b\n\n    ```toml\n    c = 1\n    ```\n"
    first, second = read_blocks(text, "page.md")
    assert (first.language, first.reason, list(command_lines(first.code))) == ("console", "no server", ["x    y"])
    assert (second.language, second.reason, second.code, second.line) == ("toml", None, "c = 1\n", 12)
    assert read_inline_code("| a `b c` |\n| --- |\n| `d` |\n") == ["b c", "d"]
