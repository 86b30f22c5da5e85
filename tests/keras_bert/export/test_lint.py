"""`lint_file` checks a file against all rules."""

import shutil

import pytest

from keras_bert.export.attachments import attach_entries
from keras_bert.export.lint import LintError, lint_file
from keras_bert.export.rules.expected import Expected


@pytest.fixture
def complete(files, tmp_path):
    """The files with companions."""
    for name in ("model.tflite", "model.onnx"):
        shutil.copyfile(files / name, tmp_path / name)
        attach_entries(tmp_path / name, {"task.json": b'{"labels": ["no", "yes"]}', "vocab.txt": b"piece\n" * 2000})
    return tmp_path


@pytest.mark.parametrize("name", ["model.tflite", "model.onnx"])
def test_error_names_file_rule_and_operation(complete, name):
    lint_file(complete / name, Expected(2000, ("no", "yes")))
    with pytest.raises(LintError, match=rf"^{name}, labels_of_task: labels of task\.json must be \['yes', 'no'\]"):
        lint_file(complete / name, Expected(2000, ("yes", "no")))
    with pytest.raises(LintError, match=rf"^{name}, vocabulary_in_table: (operation|node) \d+.* 2001, got 2000$"):
        lint_file(complete / name, Expected(2001, ("no", "yes")))
