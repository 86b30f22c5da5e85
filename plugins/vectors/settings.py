"""The table `[teacher]`: whose vectors a student learns, of which texts, and students of further sizes."""

import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic

from components.dsl.errors import InputError, prefixed_errors, table_errors
from components.files.text_files import is_remote
from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, Share, validated_dataclass
from keras_bert.options.students import AnyStudent
from keras_bert.options.tables import DistillationSettings
from pipeline.orchestrator.opening import find_remote_roots
from pipeline.settings.schema import Settings
from plugins.vectors.source import Release, VectorTexts

# The least score of the next release in the index of an earlier one, as a share of the earlier one's.
_RELEASE_SHARE = 0.99


@validated_dataclass
class Size:
    """A further student of a job with `[teacher]`: it learns the same vectors, and its queries search their documents.

    Attributes:
        name: its name in the table of models and in the names of its steps.
        student: how it differs from the checkpoint, as `[student]`; `kind` may be that of a plug-in.
        distillation: the keys of `[distillation]` in which its training differs; a student of another kind than
            `[student]` starts from the usual values of its kind, with the seed of `[distillation]`.
        min_shares: documents -> the least score of its queries on them, as a share of the teacher's score on its own:
            those of the `teacher`, of the job's `student`, or of a size by its name.
    """

    name: Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
    student: AnyStudent
    distillation: dict[str, Any] = dataclasses.field(default_factory=dict)
    min_shares: dict[str, Share] = dataclasses.field(default_factory=dict)

    def training(self, settings: Settings) -> DistillationSettings:
        """The settings of its training.

        Raises:
            InputError: a key or a value of `distillation` is not one of the table.
        """
        assert settings.student is not None
        is_same_kind = self.student.training == settings.student.training
        of_kind = {**self.student.training, "seed": settings.distillation.seed}
        usual = vars(settings.distillation) if is_same_kind else of_kind
        if "epochs" in self.distillation:
            # `steps` of the job would take precedence over the epochs of the size.
            usual = {**usual, "steps": None}
        unknown = sorted(self.distillation.keys() - {field.name for field in dataclasses.fields(DistillationSettings)})
        if unknown:
            raise InputError(f"teacher.sizes, {self.name}: distillation has no key {unknown[0]!r}")
        with table_errors(f"teacher.sizes, {self.name}: distillation"):
            return DistillationSettings(**{**usual, **self.distillation})


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
        space: in place of `path`: a version that was pushed earlier, as `runs/pushed/NAME/3`, or
            `s3://bucket/runs/pushed/NAME/3` of a root in object storage. The student is trained into its space, so that
            its queries find documents that the version embedded.
        rows: whether the texts of the training rows, such as the queries of users, are learnt beside `texts`.
        sentences: the most sentences of each text that the student learns as further texts, at even distances. Queries
            are as short as sentences, which lengthen a training little. 0 for whole texts alone, and beside vectors
            that another program made.
        document_sentences: whether the table of models shows, beside each search of a retrieval, the same search by the
            sentences of documents: a document is as near to a query as the nearest of itself and its sentences.
        sizes: further students that learn the same vectors, such as a static table beside encoders of some layers.
        min_share: the least score of the shipped file's queries on the teacher's documents, as a share of the teacher's
            score, in the metric of the task; a file below it is not pushed. 0 for no limit; None for 0.99 where `space`
            is set, whose index the queries search, and else for no limit.
    """

    path: str = ""
    texts: str = ""
    text: NonEmptyStr = "text"
    vectors: str = ""
    vector_file: str = ""
    space: str = ""
    rows: bool = False
    sentences: pydantic.NonNegativeInt = 0
    document_sentences: bool = False
    sizes: tuple[Size, ...] = ()
    min_share: Share | None = None

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
        rule = "be a folder, or an address of a root with /pushed/NAME/NUMBER, as s3://bucket/runs/pushed/NAME/3"
        fits = not is_remote(self.space) or re.fullmatch(r"[^:]+://.+/pushed/[^/]+/[0-9]+/?", self.space) is not None
        check("teacher", "space", fits, rule, self.space)
        for field in ("rows", "sentences"):
            value = getattr(self, field)
            rule = "be left out where another program made the vectors, as further texts have none"
            check("teacher", field, not (value and self.has_vectors), rule, value)
        rule = "be left out where another program made the vectors, as it embeds no documents"
        check("teacher", "sizes", not (self.sizes and self.has_vectors), rule, [size.name for size in self.sizes])
        check("teacher", "document_sentences", not (self.document_sentences and self.has_vectors), rule, True)
        rule = "be 0 where another program made the vectors, as it embeds no documents"
        check("teacher", "min_share", not (self.min_share and self.has_vectors), rule, self.min_share)
        rule = "be left out beside vectors"
        check("teacher", "vector_file", not (self.vectors and self.vector_file), rule, self.vector_file)
        return self

    @property
    def least_share(self) -> float:
        """The value of `min_share` that holds."""
        usual = _RELEASE_SHARE if self.space else 0.0
        return usual if self.min_share is None else self.min_share

    @property
    def has_vectors(self) -> bool:
        """Whether another program made the vectors."""
        return bool(self.vectors or self.vector_file)

    @property
    def release(self) -> "Release | None":
        """The version whose space is learnt, on this machine or in object storage; None for another teacher."""
        if not is_remote(self.space):
            return Release(str(Path(self.space).absolute())) if self.space else None
        root, *place = self.space.rstrip("/").rsplit("/", 3)
        with prefixed_errors("teacher.space: "):
            return Release(str(find_remote_roots(root).open_mirror(root).joinpath(*place)))

    def source(self) -> "VectorTexts":
        """The texts, without the model."""
        return VectorTexts(self.texts, self.text, self.vectors, self.vector_file)
