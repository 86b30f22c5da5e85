"""A model that scores the passages of queries: a checkpoint, a saved task, or a pushed version."""

from typing import TYPE_CHECKING, ClassVar

from components.dsl.errors import InputError
from components.sources.checkpoint import Checkpoint, errors_of_checkpoint
from keras_bert.core.folders import ANSWERING_FILES, TASK_FILE, TOKENIZER_FILES, hint_of_versions
from keras_bert.core.validation import validated_dataclass

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@validated_dataclass(kw_only=False)
class Reranker(Checkpoint):
    """A model that scores the passages of queries; it is not trained, and may be the file of a pushed version.

    Attributes:
        path: a cross-encoder with one label, a model of vectors, or a saved task, see `Checkpoint`; or a folder of one
            version that was pushed, as `runs/pushed/NAME/1`, whose file answers.
    """

    setting: ClassVar[str] = "reranker"

    @property
    def is_pushed(self) -> bool:
        """Whether it is a folder of files for runtimes."""
        return not self.is_own and (self.folder() / TASK_FILE).is_file()

    def check(self) -> None:
        from keras_bert.tasks.registry import read_settings

        folder = self.folder()
        if hint := hint_of_versions(folder):
            raise InputError(f"reranker must be one version of a pushed model, got {folder}{hint}")
        if not self.is_pushed:
            super().check()
        for names in (ANSWERING_FILES, *((name,) for name in TOKENIZER_FILES)) if self.is_pushed else ():
            if not any((folder / name).is_file() for name in names):
                raise InputError(f"reranker must hold {' or '.join(names)} beside {TASK_FILE}, got none in {folder}")
        if self.is_own or self.is_pushed:
            with errors_of_checkpoint(folder):
                kind, _ = read_settings(folder / TASK_FILE)
            check_scores(kind)

    def check_content(self) -> None:
        """See `Checkpoint.check_content`; a pushed file is read when it answers."""
        if self.is_pushed:
            self.check()
        else:
            super().check_content()

    def load(self) -> "Task":
        """The task; a pushed version answers with its file."""
        from keras_bert.export import bundle
        from keras_bert.interop.hugging_face import from_hugging_face

        self.check()
        folder = self.folder()
        with errors_of_checkpoint(folder):
            task = bundle.load(folder) if self.is_own or self.is_pushed else from_hugging_face(folder)
        check_scores(type(task))
        return task


def check_scores(kind: "type[Task]") -> None:
    """Raises InputError for a task that gives neither one number for a pair nor vectors."""
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.regression import Regression

    if not issubclass(kind, Regression | Embedding):
        raise InputError(
            f"reranker must be a model that gives one number for a pair, or vectors, got one for {kind.name}"
        )
