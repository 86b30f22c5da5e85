"""What a student of `[teacher]` learns from: texts with vectors, a model, or a version that was pushed."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from components.dsl.errors import InputError, nearest
from components.files.paths import file_digest
from components.files.tables import as_text, read_table
from components.objects.mirror import display_path
from components.sources.checkpoint import Checkpoint, errors_of_checkpoint
from components.sources.pushed_version import PushedVersion, version_exists
from components.sources.shared import digest
from components.sources.teacher_columns import TeacherColumns
from components.sources.text import TextSource, read_lines
from keras_bert.core import digests
from keras_bert.core.checks import FieldError
from keras_bert.core.folders import ANSWERING_FILES, TASK_FILE, TOKENIZER_FILES, hint_of_versions
from keras_bert.core.processor import usable_processors
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.core.vector_codes import check_vectors

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@validated_dataclass(kw_only=False)
class TeacherCheckpoint(Checkpoint):
    """The model of `[teacher] path`."""

    setting: ClassVar[str] = "teacher"


class TaughtTexts(NamedTuple):
    """Texts in their order, and their vectors (texts, width) float32; None where a teacher computes them.

    `space` is the identifier in the column beside the vectors, or else a digest of them.
    """

    texts: list[str]
    vectors: np.ndarray[Any, Any] | None
    space: str = ""


@dataclasses.dataclass(frozen=True)
class Release(PushedVersion):
    """A version of an embedding or a retrieval that was pushed."""

    def check(self) -> None:
        """Raises InputError if there is no such version, or if it makes no vectors."""
        from keras_bert.tasks.embedding import Embedding
        from keras_bert.tasks.registry import read_settings

        folder, place = Path(self.path), display_path(Path(self.path))
        rule = "be a version that was pushed and still exists, such as runs/pushed/NAME/1"
        if hint := hint_of_versions(folder):
            raise InputError(f"teacher.space must {rule}, got {place}{hint}")
        if not folder.name.isdecimal() or not version_exists(folder):
            raise InputError(f"teacher.space must {rule}, got {place}, which is none")
        fetched = self.fetch()
        missing = [name for name in (TASK_FILE, *TOKENIZER_FILES) if not (fetched / name).is_file()]
        if missing or not any((fetched / name).is_file() for name in ANSWERING_FILES):
            raise InputError(f"teacher.space must {rule}, got {place}, which lacks {(missing or ANSWERING_FILES)[0]}")
        with errors_of_checkpoint(folder):
            kind, _ = read_settings(fetched / TASK_FILE)
        if not issubclass(kind, Embedding) or not kind.needs_pooling:
            raise InputError(f"teacher.space must be a version of an embedding or a retrieval, got one of {kind.name}")

    def load(self) -> "Task":
        """The task, which answers with the file of the version."""
        from keras_bert.export.bundle import load_exported

        self.check()
        with errors_of_checkpoint(Path(self.path)):
            return load_exported(self.fetch(), num_threads=usable_processors())

    def width(self) -> int:
        """The width of its vectors."""
        return int(self.load().model.output["embedding"].shape[-1])


@validated_dataclass(kw_only=False)
class VectorTexts:
    """The texts of `VectorTeacher`, and their vectors if another program made them."""

    texts: NonEmptyStr
    text: str
    vectors: str
    vector_file: str

    def fingerprint(self) -> str:
        """The digest of the settings and of the contents of all files."""
        files = [*TextSource(self.texts, self.text).digests().values()]
        files += [file_digest(self.vector_file)] if self.vector_file else []
        return digest([("settings", f"{self.text} {self.vectors}"), *enumerate_digests(files)])

    def read(self) -> TaughtTexts:
        """The texts with their vectors; texts without a vector are left out.

        Raises:
            InputError: a file is missing, a text is blank, or a vector is not one, see `check_vectors`.
        """
        if not (self.vectors or self.vector_file):
            return TaughtTexts(list(read_lines(TextSource(self.texts, self.text))), None)
        columns, texts, vectors, names = TeacherColumns(probabilities=self.vectors or None), [], [], set[str]()
        spaces_of_rows = list[str]()
        for record in read_table(self.texts, (self.text,), has_cells=bool(self.vectors)):
            texts.append(as_text(record.values[0], record.where, self.text, is_filled=True).strip())
            vectors.append(columns.raw_answer(record) if self.vectors else None)
            names.update(record.cells)
            space = record.cells.get(f"{self.vectors}_space") or ""
            # Parquet and Arrow hold text as bytes.
            spaces_of_rows.append(space.decode(errors="replace") if isinstance(space, bytes) else str(space))
        if self.vectors and self.vectors not in names:
            hint = nearest(self.vectors, names)
            raise InputError(f"teacher.vectors must be a column of {self.texts}, got {self.vectors!r}{hint}")
        try:
            given, is_given = check_vectors("teacher", self._load() if self.vector_file else vectors, len(texts))
        except FieldError as error:
            # The field that the user wrote, and the row in it.
            field = f"{'vector_file' if self.vector_file else 'vectors'}{error.field.removeprefix('vectors')}"
            raise InputError(str(FieldError("teacher", field, error.rule, error.value))) from None
        spaces = {space for space, has_vector in zip(spaces_of_rows, is_given, strict=True) if has_vector}
        if len(spaces) > 1:
            rule = "be the vectors of one space, whose identifier is beside them"
            raise InputError(f"teacher.vectors must {rule}, got {' and '.join(sorted(map(repr, spaces)))}")
        texts = [text for text, has_vector in zip(texts, is_given, strict=True) if has_vector]
        return TaughtTexts(texts, given, spaces.pop() or digests.digest([given.tobytes()]))

    def _load(self) -> np.ndarray[Any, Any]:
        try:
            array = np.load(Path(self.vector_file), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"teacher.vector_file must be a readable .npy file, got {self.vector_file}: {error}"
            ) from None
        if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu":
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else "an archive"
            raise InputError(f"teacher.vector_file must hold one array of real numbers (rows, width), got {got}")
        return array


def enumerate_digests(digests: list[str]) -> list[tuple[str, str]]:
    """Digests with their numbers, as `digest` takes them."""
    return [(str(number), value) for number, value in enumerate(digests)]
