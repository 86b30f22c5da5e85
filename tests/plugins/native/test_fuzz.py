"""A million random inputs under the sanitizers, and answers of threads that share a model."""

import json
import subprocess

import pytest

from keras_bert.clients.characters import character_table
from tests.clients.fuzz import MPNET, PIECES, make_strings
from tests.clients.subword_fuzz import make_texts, make_tokenizer, subword_rules
from tests.plugins.native.build import SANITIZERS, compile_program

pytestmark = pytest.mark.native

INPUTS, SEED = 1_000_000, 5
_TAGS = {"task": "token_classification", "max_length": 12, "labels": ["O", "B-film", "I-film", "S-plot"]}
_ANSWERS = {
    "task": "question_answering",
    "max_length": 24,
    "stride": 4,
    "max_query_length": 6,
    "max_answer_length": 8,
    "null_threshold": 0.5,
}
_LABELS = {"task": "classification", "max_length": 12, "labels": ["good", "b\u00e4d", "\U0001f600"]}
METRICS = {"calibration": {"temperature": 1.3, "threshold": 0.5}}
FAMILIES = ("roberta", "albert", "xlm_roberta", "deberta_5", "gemma", "llama", "spaced")


def write_models(folder):
    """Folders of models with small tables, and texts; returns how many models there are."""
    tables = [("".join(f"{piece}\n" for piece in PIECES), character_table(lowercase)) for lowercase in (True, False)]
    mpnet = "".join(f"{piece}\n" for piece in (*MPNET, *PIECES[5:]))
    tables.append((mpnet, character_table(False)))
    for family in FAMILIES:
        tokenizer = make_tokenizer(family)
        tables.append(("".join(f"{token}\n" for token in tokenizer.vocabulary), subword_rules(tokenizer)))
    for place, (vocabulary, rules) in enumerate(tables):
        made = folder / str(place)
        made.mkdir()
        task = json.dumps((_LABELS, _TAGS, _ANSWERS)[place % 3])
        contents = {"vocab.txt": vocabulary, "rules.txt": rules, "task.json": task, "metrics.json": json.dumps(METRICS)}
        for name, content in contents.items():
            (made / name).write_text(content, encoding="utf-8", newline="")
    texts = [text.replace("\n", "\v") for text in (*make_strings(3)[:2000], *make_texts(4)[:2000])]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
    return len(tables)


def test_no_input_breaks_it(tmp_path):
    models = write_models(tmp_path)
    program = compile_program(tmp_path, "fuzz.cpp", flags=("-O1", *SANITIZERS))
    command = [str(program), str(tmp_path), str(models), str(INPUTS), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, refused = (int(word) for word in done.stdout.split() if word.isdigit())
    # Broken files are a tenth of the inputs; not all of them are refused.
    assert (count, 0.01 < refused / count < 0.1) == (INPUTS, True)
