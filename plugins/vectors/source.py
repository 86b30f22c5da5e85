"""The table `[teacher]`: the model whose vectors a student learns, or a file of vectors, and the texts."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import pydantic

from components.dsl.errors import InputError, nearest, table_errors
from components.files.paths import file_digest
from components.files.tables import as_text, read_table
from components.sources.checkpoint import Checkpoint, errors_of_checkpoint
from components.sources.pushed_version import PushedVersion, version_exists
from components.sources.shared import digest
from components.sources.teacher_columns import TeacherColumns
from components.sources.text import TextSource, read_lines
from keras_bert.core import digests
from keras_bert.core.checks import check
from keras_bert.core.folders import ANSWERING_FILES, TASK_FILE, TOKENIZER_FILES, hint_of_versions
from keras_bert.core.processor import usable_processors
from keras_bert.core.validation import NonEmptyStr, Share, validated_dataclass
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


@validated_dataclass
class VectorTeacher:
    """The teacher of a student of an embedding or a retrieval: the student learns its vectors of texts.

    Attributes:
        path: a model of vectors, see `checkpoint.path`; it may be larger than the checkpoint and of another family.
            Empty for the checkpoint itself, and beside `vectors` and `vector_file`.
        texts: texts without labels: files or patterns as in `[unlabelled] path`, whose different lines are the texts.
            Empty for the texts of the training rows.
        text: the column of the text, where `texts` are tables.
        vectors: the column of `texts` with the vectors that another program made: lists, in text files as JSON. Rows
            without a vector are left out.
        vector_file: instead of `vectors`, an `.npy` file with a vector for each row of `texts` (rows, width).
        space: in place of `path`: a version that was pushed earlier, as `runs/pushed/NAME/3`. The student is trained
            into its space, so that its queries find documents that the version embedded.
        min_share: the least score of the shipped file's queries on the teacher's documents, as a share of the teacher's
            score, in the metric of the task; a file below it is not pushed. 0 for no limit.
    """

    path: str = ""
    texts: str = ""
    text: NonEmptyStr = "text"
    vectors: str = ""
    vector_file: str = ""
    space: str = ""
    min_share: Share = 0.0

    @pydantic.model_validator(mode="after")
    def _check_uses(self) -> Self:
        for field in ("vectors", "vector_file"):
            value = getattr(self, field)
            rule = "be left out without texts, the table that they belong to"
            check("teacher", field, not value or bool(self.texts), rule, value)
            rule = "be left out beside path, as the vectors of one teacher are learnt"
            check("teacher", field, not value or not self.path, rule, value)
        others = self.path or self.vectors or self.vector_file
        rule = "be left out beside path, vectors and vector_file, as the vectors of one teacher are learnt"
        check("teacher", "space", not (self.space and others), rule, self.space)
        rule = "be 0 where another program made the vectors, as it embeds no documents"
        check("teacher", "min_share", not (self.min_share and self.has_vectors), rule, self.min_share)
        rule = "be left out beside vectors"
        check("teacher", "vector_file", not (self.vectors and self.vector_file), rule, self.vector_file)
        return self

    @property
    def has_vectors(self) -> bool:
        """Whether another program made the vectors."""
        return bool(self.vectors or self.vector_file)

    @property
    def release(self) -> "Release | None":
        """The version whose space is learnt; None for another teacher."""
        return Release(str(Path(self.space).absolute())) if self.space else None

    def source(self) -> "VectorTexts":
        """The texts, without the model."""
        return VectorTexts(self.texts, self.text, self.vectors, self.vector_file)


@dataclasses.dataclass(frozen=True)
class Release(PushedVersion):
    """A version of an embedding or a retrieval that was pushed."""

    def check(self) -> None:
        """Raises InputError if there is no such version, or if it makes no vectors."""
        from keras_bert.tasks.embedding import Embedding
        from keras_bert.tasks.registry import read_settings

        folder = Path(self.path)
        rule = "be a version that was pushed and still exists, such as runs/pushed/NAME/1"
        if hint := hint_of_versions(folder):
            raise InputError(f"teacher.space must {rule}, got {folder}{hint}")
        if not folder.name.isdecimal() or not version_exists(folder):
            raise InputError(f"teacher.space must {rule}, got {folder}, which is none")
        place = self.fetch()
        missing = [name for name in (TASK_FILE, *TOKENIZER_FILES) if not (place / name).is_file()]
        if missing or not any((place / name).is_file() for name in ANSWERING_FILES):
            raise InputError(f"teacher.space must {rule}, got {folder}, which lacks {(missing or ANSWERING_FILES)[0]}")
        with errors_of_checkpoint(folder):
            kind, _ = read_settings(place / TASK_FILE)
        if not issubclass(kind, Embedding):
            raise InputError(f"teacher.space must be a version of an embedding or a retrieval, got one of {kind.name}")

    def load(self) -> "Task":
        """The task, which answers with the file of the version."""
        from keras_bert.export.bundle import load_exported

        self.check()
        with errors_of_checkpoint(Path(self.path)):
            return load_exported(self.fetch(), num_threads=usable_processors())


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
        spaces = set[str]()
        for record in read_table(self.texts, (self.text,), has_cells=bool(self.vectors)):
            texts.append(as_text(record.values[0], record.where, self.text, is_filled=True).strip())
            vectors.append(columns.raw_answer(record) if self.vectors else None)
            names.update(record.cells)
            spaces.add(str(record.cells.get(f"{self.vectors}_space") or ""))
        if self.vectors and self.vectors not in names:
            hint = nearest(self.vectors, names)
            raise InputError(f"teacher.vectors must be a column of {self.texts}, got {self.vectors!r}{hint}")
        with table_errors("teacher"):
            given, is_given = check_vectors("teacher", self._load() if self.vector_file else vectors, len(texts))
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
