"""The step itself, with a stand-in for the task; what real checkpoints become stands in `test_checkpoints.py`."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from components.artifacts.standard import Model, Vocabulary
from components.dsl.errors import InputError
from components.import_checkpoint import import_checkpoint
from components.sources.checkpoint import Checkpoint

OWN = {"model.keras": "", "task.json": "{}", "vocab.txt": "", "tokenizer.json": "{}"}
HUGGING_FACE = {"config.json": '{"model_type": "bert"}', "model.safetensors": "", "vocab.txt": ""}


class Task:
    """Saves what it was read from."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.positions = 16
        self.model = types.SimpleNamespace(count_params=lambda: 1234)
        self.tokenizer = types.SimpleNamespace(vocabulary_size=56, save=self._save_tokenizer)

    def save(self, folder: Path) -> None:
        (folder / "origin").write_text(self.origin)

    def _save_tokenizer(self, folder: Path) -> None:
        (folder / "vocab.txt").write_text("[PAD]\n")


class Readers:
    """Stand for the two readers of the library; keep what they were asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.error: Exception | None = None

    def read(self, kind: str, path: Path) -> Task:
        self.calls.append((kind, str(path)))
        if self.error:
            raise self.error
        return Task(f"{kind} {path}")


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    """In place of modules that would bring in TensorFlow."""
    readers = Readers()
    for module, name, kind in (
        ("keras_bert.tasks.registry", "load", "own"),
        ("keras_bert.interop.hugging_face", "from_hugging_face", "hugging face"),
    ):
        stand_in: Any = types.ModuleType(module)
        setattr(stand_in, name, lambda path, kind=kind: readers.read(kind, path))
        monkeypatch.setitem(sys.modules, module, stand_in)
    return readers


def make_checkpoint(folder: Path, files: dict[str, str]) -> Checkpoint:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    return Checkpoint(str(folder))


@pytest.mark.parametrize(
    ("files", "kind"), [(OWN, "own"), (HUGGING_FACE, "hugging face"), ({**HUGGING_FACE, **OWN}, "own")]
)
def test_each_kind_of_folder_has_its_reader(tmp_path: Path, readers: Readers, files: dict[str, str], kind: str) -> None:
    source = make_checkpoint(tmp_path / "größe", files)
    model, vocabulary = Model(tmp_path / "model"), Vocabulary(tmp_path / "vocabulary")
    import_checkpoint.run(source=source, model=model, vocabulary=vocabulary)
    assert readers.calls == [(kind, source.path)]
    assert model.file("origin").read_text() == f"{kind} {source.path}"
    assert vocabulary.file("vocab.txt").read_text() == "[PAD]\n"
    assert model.manifest()["counts"] == {"parameters": 1234}
    assert vocabulary.manifest()["counts"] == {"entries": 56}
    # Which checkpoint it was, and not where it lay.
    made_with = model.manifest()["parameters"]
    assert made_with == vocabulary.manifest()["parameters"]
    assert made_with["source"] == {"type": "Checkpoint", "fingerprint": source.fingerprint()}


@pytest.mark.parametrize(("max_length", "taken"), [(16, True), (17, False)])
def test_the_longest_input_must_have_positions(tmp_path: Path, readers: Readers, max_length: int, taken: bool) -> None:
    source = make_checkpoint(tmp_path / "checkpoint", OWN)
    model, vocabulary = Model(tmp_path / "model"), Vocabulary(tmp_path / "vocabulary")
    if taken:
        import_checkpoint.run(source=source, model=model, vocabulary=vocabulary, max_length=max_length)
        assert model.manifest()["parameters"]["max_length"] == max_length
        return
    with pytest.raises(InputError) as error_info:
        import_checkpoint.run(source=source, model=model, vocabulary=vocabulary, max_length=max_length)
    assert str(error_info.value) == "max_length must be at most 16, the checkpoint's positions, got 17"
    assert list(model.path.iterdir()) == [], "nothing is published"


@pytest.mark.parametrize("files", [OWN, HUGGING_FACE])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("a.json must say\n  vocab_size,\tgot 'größe'"), "a.json must say vocab_size, got 'größe'"),
        (FileNotFoundError("there is no model here"), "there is no model here"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_folder(
    tmp_path: Path, readers: Readers, files: dict[str, str], error: Exception, reason: str
) -> None:
    source = make_checkpoint(tmp_path / "checkpoint", files)
    model, vocabulary = Model(tmp_path / "model"), Vocabulary(tmp_path / "vocabulary")
    readers.error = error
    with pytest.raises(InputError) as error_info:
        import_checkpoint.run(source=source, model=model, vocabulary=vocabulary)
    assert str(error_info.value) == f"the checkpoint {source.path} cannot be used: {reason}"
    assert list(model.path.iterdir()) == list(vocabulary.path.iterdir()) == [], "nothing is published"


def test_a_fault_of_the_program_is_not_taken_for_one_of_the_checkpoint(tmp_path: Path, readers: Readers) -> None:
    source = make_checkpoint(tmp_path / "checkpoint", OWN)
    readers.error = ZeroDivisionError("division by zero")
    with pytest.raises(ZeroDivisionError):
        import_checkpoint.run(source=source, model=Model(tmp_path / "m"), vocabulary=Vocabulary(tmp_path / "v"))


def test_a_folder_is_checked_before_it_is_read(tmp_path: Path, readers: Readers) -> None:
    source = make_checkpoint(tmp_path / "checkpoint", {**HUGGING_FACE, "config.json": '{"model_type": "gpt2"}'})
    with pytest.raises(InputError) as error_info:
        import_checkpoint.run(source=source, model=Model(tmp_path / "m"), vocabulary=Vocabulary(tmp_path / "v"))
    config = tmp_path / "checkpoint" / "config.json"
    assert str(error_info.value).startswith(f"checkpoint: {config}: model_type must be one of ['bert', ")
    assert "got 'gpt2'" in str(error_info.value)
    assert readers.calls == []
