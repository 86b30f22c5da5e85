"""A page that runs a pushed model in the browser: one file, no network, nothing to install."""

import base64
import html
import importlib.resources
import json
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.clients.characters import character_table
from keras_bert.clients.search_corpus import SearchCorpus
from keras_bert.clients.subword_rules import subword_rules
from keras_bert.core.folders import (
    CHARACTERS_FILE,
    GOLDEN_FILE,
    METRICS_FILE,
    PAGE_FILE,
    SELF_TEST_FILE,
    SUBWORDS_FILE,
    TASK_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    TOKENIZER_FILE,
    TOKENIZERS_FOLDER,
    VOCABULARY_FILE,
)
from keras_bert.core.vector_codes import check_space
from keras_bert.export.rules.lite_graphs import count_operations
from keras_bert.tasks.calibration import read_calibration
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.eager import EagerSubwords
from keras_bert.tokenizers.subword_copies import find_copy_obstacle

# The sources that an app copies, by the file of rules that they read: Kotlin, Swift and JavaScript.
TOKENIZER_SOURCES = {
    CHARACTERS_FILE: ("WordPiece.kt", "WordPiece.swift", "wordpiece.js"),
    SUBWORDS_FILE: ("Subwords.kt", "Subwords.swift", "subwords.js"),
}
# Likewise for the self-test.
_SELF_TEST_SOURCES = ("SelfTest.kt", "SelfTest.swift", "self_test.js")
# The names of the tokenizers in these sources.
_CLASSES = {CHARACTERS_FILE: "WordPiece", SUBWORDS_FILE: "Subwords"}
# Each script after the ones that it imports; the tokenizer comes between both.
_RUNTIME_SCRIPTS = ("flatbuffer.js", "integers.js", "operations.js", "tflite.js")
_PAGE_SCRIPTS = ("answers.js", "search.js", "self_test.js", "page.js")
_PAGE_TASK = re.compile(r'^  ([a-z_]+): \["', re.MULTILINE)
# Texts that the page offers.
_EXAMPLES = 2
_OPERATION = re.compile(r'^  \d+: \["([A-Z0-9_]+)"', re.MULTILINE)


def write_tokenizers(folder: Path) -> None:
    """Writes the sources of the tokenizers and of the self-test for apps, and their rules, into the folder of a model.

    The rules are `characters.txt` of WordPiece, `subwords.txt` of byte-level BPE and unigram. Nothing is written if
    `find_copy_obstacle` has an obstacle for the tokenizer.
    """
    options = json.loads((folder / TOKENIZER_FILE).read_text(encoding="utf-8"))
    if "lowercase" in options:
        rules, lines = CHARACTERS_FILE, character_table(options["lowercase"])
    elif find_copy_obstacle(options):
        return
    else:
        rules, lines = SUBWORDS_FILE, subword_rules(EagerSubwords(options))
    (folder / rules).write_text(lines, encoding="utf-8")
    (folder / TOKENIZERS_FOLDER).mkdir(exist_ok=True)
    for name in (*TOKENIZER_SOURCES[rules], *_SELF_TEST_SOURCES):
        (folder / TOKENIZERS_FOLDER / name).write_text(_read(name), encoding="utf-8")


def page_model(folder: Path) -> Path:
    """Returns the file that the page of a folder runs."""
    return folder / (TFLITE_FILE if (folder / TFLITE_FILE).is_file() else TFLITE_FLOAT_FILE)


def find_page_obstacle(folder: Path) -> str:
    """Returns the reason why a folder of exported files cannot have a page; empty if it can."""
    file = page_model(folder)
    if not file.is_file():
        return "there is no file for LiteRT"
    if not any((folder / rules).is_file() for rules in TOKENIZER_SOURCES):
        return "there are no rules of its tokenizer for apps"
    task = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))["task"]
    if task not in _PAGE_TASK.findall(_read("page.js")) and not _task_scripts(task):
        return f"the page cannot show answers of the task {task}"
    unknown = sorted({operation.split()[0] for operation in count_operations(file)} - page_operations())
    return f"the page cannot run the operations {', '.join(unknown)}" if unknown else ""


def page_operations() -> frozenset[str]:
    """Returns the names of the LiteRT operations that the page can run."""
    return frozenset(_OPERATION.findall(_read("operations.js")))


class PageScore(NamedTuple):
    """The score, 0 to 1, that a page shows, with its metric's name and the number of test rows."""

    metric: str
    mean: float
    rows: int


def write_page(folder: Path, name: str, score: PageScore, corpus: SearchCorpus | None = None) -> None:
    """Writes `index.html` with a title; without a corpus the page of an embedding or a retrieval shows vectors.

    The folder has a `.tflite` file and its score, the task's settings, `vocab.txt`, the rules of its tokenizer,
    `metrics.json`, which holds the calibration, and `golden.json`, of whose texts the page offers some. The page runs
    the self-test of the folder, if it has one.
    """
    task = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
    if corpus is not None:
        check_space("write_page", task.get("space", ""), [corpus.space])
    rules = next(rules for rules in TOKENIZER_SOURCES if (folder / rules).is_file())
    pieces = (folder / VOCABULARY_FILE).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    file, calibration = page_model(folder), read_calibration(folder / METRICS_FILE)
    table = (folder / rules).read_text(encoding="utf-8")
    content = {"task": task, "pieces": pieces, "rules": table, **calibration._asdict()}
    content["examples"] = _choose_examples(json.loads((folder / GOLDEN_FILE).read_text(encoding="utf-8")), task)
    if (folder / SELF_TEST_FILE).is_file():
        content["test"] = json.loads((folder / SELF_TEST_FILE).read_text(encoding="utf-8"))
    content["file"] = file.name
    fields = {
        "title": html.escape(name),
        "about": html.escape(_about(task, score, file, corpus)),
        # `</script>` inside the script would end it.
        "description": json.dumps(content).replace("<", "\\u003c"),
        "model": base64.b64encode(file.read_bytes()).decode(),
        "corpus": "" if corpus is None else corpus.scripts(),
        "code": page_code(rules, _task_scripts(task["task"])),
    }
    (folder / PAGE_FILE).write_text(string.Template(_read("page.html")).substitute(fields), encoding="utf-8")


def _choose_examples(rows: Sequence[Mapping[str, Any]], task: Mapping[str, Any]) -> list[list[str]]:
    """The first golden rows of several words in each text: pairs for a model of pairs, else single texts."""
    texts = [[row[side] for side in ("text", "second") if side in row] for row in rows]
    texts = [row for row in texts if all(len(text.split()) > 2 for text in row)]
    sides = max(map(len, texts), default=0) if task.get("pairs") else min(map(len, texts), default=0)
    return [row for row in texts if len(row) == sides][:_EXAMPLES]


def page_code(rules: str, of_task: Sequence[Path] = ()) -> str:
    """Joins all scripts into one, without their imports and exports.

    Args:
        rules: a key of `TOKENIZER_SOURCES`.
        of_task: `Task.page_scripts`; their names are in a scope of their own.
    """
    scripts = (*_RUNTIME_SCRIPTS, TOKENIZER_SOURCES[rules][-1], *_PAGE_SCRIPTS)
    code = "\n".join([*map(_read, scripts[:-1]), f"const Tokenizer = {_CLASSES[rules]};", _read(scripts[-1])])
    if of_task:
        code += "\n".join(["", "{", *(script.read_text(encoding="utf-8") for script in of_task), "}"])
    return re.sub(r"^export ", "", re.sub(r"^import .*\n", "", code, flags=re.MULTILINE), flags=re.MULTILINE)


def _about(task: Mapping[str, Any], score: PageScore, file: Path, corpus: SearchCorpus | None) -> str:
    labels = f": {', '.join(task['labels'])}" if "labels" in task else ""
    kind = f"{task['task'].replace('_', ' ')}{labels}"
    searched = "" if corpus is None else f" · searches {len(corpus.texts):,} texts"
    return f"{kind} · {file.name} · {score.metric} {100 * score.mean:.2f} on {score.rows} test rows{searched}"


def _task_scripts(task: str) -> tuple[Path, ...]:
    return TASKS[task].page_scripts if task in TASKS else ()


def _read(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
