"""What a student of `[teacher]` learns from: texts with vectors, a model, or a version that was pushed."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from components.dsl.errors import InputError, nearest
from components.files.paths import file_digest, short_name
from components.files.tables import as_text, read_table
from components.objects.mirror import display_path
from components.sources.checkpoint import Checkpoint, errors_of_checkpoint
from components.sources.pushed_version import PushedVersion, version_exists
from components.sources.shared import digest
from components.sources.teacher_columns import TeacherColumns
from components.sources.text import TextSource, read_lines
from keras_bert.core import digests
from keras_bert.core.checks import FieldError
from keras_bert.core.folders import ANSWERING_FILES, MODEL_FILE, TASK_FILE, TOKENIZER_FILES, hint_of_versions
from keras_bert.core.processor import usable_processors
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.core.vector_codes import check_vectors
from keras_bert.interop.configs import CONFIG_FILE
from keras_bert.interop.sentence_transformers import read_pooling

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@validated_dataclass(kw_only=False)
class TeacherCheckpoint(Checkpoint):
    """The model of `[teacher] path`."""

    setting: ClassVar[str] = "teacher"

    def check(self) -> None:
        """See `Checkpoint.check`; an exported file is none."""
        folder = self.folder()
        if (folder / TASK_FILE).is_file() and not any((folder / name).is_file() for name in (MODEL_FILE, CONFIG_FILE)):
            raise InputError(
                f"teacher.path must be a model that can be trained, got {self.path}, which only answers; set "
                "teacher.space in place of teacher.path to learn the space of a version that was pushed"
            )
        super().check()


def vector_width(checkpoint: Checkpoint) -> int | None:
    """The width of the vectors that a checkpoint makes; None if only its weights would tell."""
    hidden_size = checkpoint.size("hidden_size")
    if hidden_size is None:
        return None
    with errors_of_checkpoint(checkpoint.folder()):
        pooling = read_pooling(checkpoint.folder())
    whole = [layer.units for layer in pooling.projections] or [hidden_size * len(pooling.pooling.split("+"))]
    return pooling.dimension or whole[-1]


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
        if not folder.name.isdecimal():
            raise InputError(f"teacher.space must {rule}, got {place}, whose last part is no number")
        if not version_exists(folder):
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
        """The digest of the settings, of the names of the texts' files, and of the contents of all files."""
        digests = TextSource(self.texts, self.text).digests().items()
        files = [(short_name(file, self.texts), file_digest) for file, file_digest in digests]
        files += [("vector_file", file_digest(self.vector_file))] if self.vector_file else []
        return digest([("settings", f"{self.text} {self.vectors}"), *files])

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
        # Beside the identifier of their space, whole numbers without a sign are bytes of `predict --vectors binary`.
        if any(spaces_of_rows) and given.min() >= 0 and given.max() > 127 and (given == np.rint(given)).all():
            rule = "be float32 or int8, as `predict` writes them without --vectors binary"
            raise InputError(f"teacher.vectors must {rule}, got packed bits")
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
