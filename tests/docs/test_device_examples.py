"""The example of docs/guides/phones.md decodes tags and answers of a file with text as input as `predict` does."""

import ast
import unicodedata
from pathlib import Path

import pytest

from keras_bert.core.folders import TEXT_FILE
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.export.text import export_text
from keras_bert.tasks.answer_spans import end_with_marks
from tests.docs.blocks import REPOSITORY, read_blocks
from tests.keras_bert.export.word_tasks import make_task, make_texts

PAGE = REPOSITORY / "docs" / "guides" / "phones.md"
ACCENTS = ["The unbelievable fi\u0301lm, 2000 \u00e9\U0001f642 plots!", "विष्णु the plot", "", "don't\u200d a\u0308 (s)"]
LONG = ["film " * 50 + "great", "the " + "unbelievable " * 12, "plot, " * 40 + "विष्णु"]


def run_example():
    """The modules and functions of the example, and its interpreter of the file in the working folder."""
    code = "\n".join(block.code for block in read_blocks(PAGE.read_text(), PAGE.name) if block.language == "python")
    nodes = [
        node
        for node in ast.parse(code).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
        or ast.unparse(node).startswith("interpreter = ")
    ]
    names = {}
    exec(compile(ast.Module(nodes, []), str(PAGE), "exec"), names)
    return names


@pytest.fixture
def example(tmp_path, monkeypatch, request):
    """The example with the file of a task, which it holds as `task`."""
    task = make_task(request.param)
    export_text(task, tmp_path / TEXT_FILE)
    attach_companions(task, tmp_path / TEXT_FILE)
    monkeypatch.chdir(tmp_path)
    names = run_example()
    for signature in names["interpreter"].get_signature_list():
        names[signature] = names["interpreter"].get_signature_runner(signature)
    return {"task": task, "example": names}


@pytest.mark.parametrize("example", ["token_classification"], indirect=True)
def test_tags_are_those_of_the_task(example):
    task, names = example["task"], example["example"]
    names["labels"] = task.labels
    file, tags = load_exported(Path.cwd() / TEXT_FILE), set[str]()
    for text in (*TEXTS, *ACCENTS, *make_texts(20, 8), *LONG):
        tagged = list(names["tag_words"](text))
        words = [word for word, _ in tagged]
        is_whole = task.count_tokens([text])[0] <= task.max_length
        (entities,) = (task if is_whole else file).predict([text])
        marked = "".join(word for word, tag in tagged if tag != "O")
        assert strip(marked) == strip("".join(entity.text for entity in entities))
        if is_whole and words:
            assert [tag for _, tag in tagged] == task.predict_tags([words])[0]
        tags.update(tag for _, tag in tagged)
    assert tags == set(task.labels)


def strip(text):
    """A text without the characters between words that the tokenizer drops: white space, controls and U+FFFD."""
    text = text.replace("\ufffd", "")
    return "".join(character for character in text if unicodedata.category(character)[0] not in "ZC")


@pytest.mark.parametrize("example", ["question_answering"], indirect=True)
def test_answers_are_those_of_the_task(example):
    task, names = example["task"], example["example"]
    file, answers = load_exported(Path.cwd() / TEXT_FILE), set[str]()
    questions = [*TEXTS, *(["What film?"] * 27)]
    contexts = [*SECONDS, *ACCENTS, *LONG, *make_texts(20, 5)]
    for question, context in zip(questions, contexts, strict=False):
        answer = names["find_answer"](question, context)
        (of_file,) = file.predict([question], [context])
        assert answer == of_file.text
        # The task cuts a question to `max_query_length` tokens, the file to its row alone.
        is_short = task.count_tokens([question])[0] - 2 <= task.max_query_length
        if is_short and task.count_tokens([question], [context])[0] <= task.max_length:
            (of_task,) = task.predict([question], [context])
            assert answer == of_task.text
        answers.add(answer)
    assert len(answers) > 10


@pytest.mark.parametrize("example", ["regression"], indirect=True)
@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [("विष्णु मंदिर", 5, "विष्णु"), ("cafe\u0301 noir", 4, "cafe\u0301"), ("London.", 6, "London")],
)
def test_words_keep_their_marks(example, text, end, expected):
    shown = example["example"]["end_with_marks"]
    assert text[: shown(text, end)] == expected
    assert shown(text, end) == end_with_marks(text, end)
