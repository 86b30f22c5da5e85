"""Labelled data that is no table of texts and labels: tagged words, and questions with answers."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Literal, get_args

from components.base import InputError
from components.conll import Sentence, parse_columns, parse_lists
from components.file_names import match_files
from components.record_files import RECORD_KINDS, read_records
from components.source_parts import check_labels, fingerprint_splits, given_splits, require
from components.squad import QUESTION_FIELDS, Question, parse_question, read_squad
from components.tag_schemes import find_tag_error, suggest_scheme, to_bio
from components.text_files import Lines, extension
from keras_bert.config import check

# What holds lists of words; all other files have columns, whatever they are called, and TSV files, too.
_LIST_KINDS = tuple(kind for kind in RECORD_KINDS if kind != ".tsv")
_SENTENCE_KINDS = (".conll", ".txt", *RECORD_KINDS)
_QUESTION_KINDS = (".json", *RECORD_KINDS)
_SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(frozen=True)
class SentenceSource:
    """Sentences with a tag for each word.

    Files hold a word a line in columns, as CoNLL's (any extension, `.tsv` too), or a sentence a row with a list of
    words and one of tags (`.jsonl`, `.parquet`, `.arrow`; in `.csv` strings parted by blanks).

    Attributes:
        train: the sentences of training: a file, a folder or a pattern, see `TextSource.path`.
        validation: others, or None to take a tenth of those of training.
        test: likewise.
        word_column: the column of the word, from 0; negative ones count from the end.
        tag_column: that of the tag.
        prefix: what stands before every word and is no part of it, as `en:` in WikiANN.
        words: the field of the words in a row.
        tags: that of the tags.
        scheme: how tags mark entities: `BIO`, each begun by a `B-`; `IOB1`, only where another one of its type comes
            right before it, as CoNLL-2003 is distributed; `IOBES` or `BILOU`, with tags of their own for the last word
            and the only one. All become BIO. `any` takes other tags, as parts of speech.
        task: which this is.
    """

    train: str
    validation: str | None = None
    test: str | None = None
    word_column: int = 0
    tag_column: int = -1
    prefix: str = ""
    words: str = "words"
    tags: str = "tags"
    scheme: Literal["BIO", "IOB1", "IOBES", "BILOU", "any"] = "BIO"
    task: Literal["token_classification"] = "token_classification"

    def __post_init__(self) -> None:
        for field in ("train", "words", "tags"):
            require(f"SentenceSource.{field}", getattr(self, field))
        for field, other in (("tag_column", "word_column"), ("tags", "words")):
            value = getattr(self, field)
            check("SentenceSource", field, value != getattr(self, other), f"be another than {other}", value)
        for field in ("scheme", "task"):
            known = get_args(self.__annotations__[field])
            check("SentenceSource", field, getattr(self, field) in known, f"be one of {known}", getattr(self, field))

    def check(self) -> None:
        """Raises InputError unless the files can be read, and the splits agree on the tags."""
        self.splits()

    def fingerprint(self) -> str:
        """The digest of the settings and of the files.

        Raises:
            InputError: a file is missing.
        """
        return _fingerprint(self, _SENTENCE_KINDS)

    def splits(self) -> dict[str, list[Sentence]]:
        """The sentences of each split that is given, their entities in BIO.

        Raises:
            InputError: a file is missing, malformed or holds no sentence; a tag breaks the scheme, there are fewer
                than two, or a split has one of which training knows neither it nor, of an entity, its type.
        """
        paths = given_splits(self.train, self.validation, self.test)
        splits = {split: self._read(path) for split, path in paths.items()}
        check_labels({split: self._known_tags(sentences) for split, sentences in splits.items()}, self.train)
        return splits

    def labels(self, sentences: list[Sentence]) -> list[str]:
        """The tags that a model of these sentences is to know, sorted; of an entity both, `B-` and `I-`."""
        return sorted(self._known_tags(sentences))

    def _known_tags(self, sentences: list[Sentence]) -> set[str]:
        found = {tag for sentence in sentences for tag in sentence.tags}
        if self.scheme == "any":
            return found
        return {"O"} | {f"{kind}{tag[1:]}" for tag in found if tag != "O" for kind in "BI"}

    def _read(self, path: str) -> list[Sentence]:
        files = match_files(path, _SENTENCE_KINDS, what="the file of sentences")
        sentences = [sentence for file in files for sentence in self._read_file(file)]
        if not sentences:
            raise InputError(f"{path} must hold at least one sentence, got none")
        return sentences

    def _read_file(self, file: str) -> list[Sentence]:
        parsed = list(self._parse_file(file))
        sentences = [sentence for sentence, _, _ in parsed]
        if self.scheme == "any":
            return sentences
        for sentence, where, first in parsed:
            found = find_tag_error(sentence.tags, self.scheme)
            if found:
                hint = suggest_scheme([each.tags for each in sentences], self.scheme)
                raise InputError(f"{where} {first + found[0]}: {found[1]}{hint}")
        return [sentence._replace(tags=to_bio(sentence.tags)) for sentence in sentences]

    def _parse_file(self, file: str) -> Iterator[tuple[Sentence, str, int]]:
        """Each sentence, the start of an error message about a word of it, and the number of the first word there."""
        if extension(file) in _LIST_KINDS:
            for record in read_records(file, (self.words, self.tags)):
                yield parse_lists(record, (self.words, self.tags)), f"{record.where}, word", 1
            return
        columns = {"word_column": self.word_column, "tag_column": self.tag_column}
        for sentence, line in parse_columns(Lines(file), prefix=self.prefix, **columns):
            yield sentence, f"{file} line", line


@dataclasses.dataclass(frozen=True)
class QuestionSource:
    """Questions whose answers are spans of a context.

    Files are SQuAD's `.json` (v1.1 or v2.0), or hold a question a row with the fields `id`, `question`, `context` and
    `answers`, see `components.squad.parse_question`.

    Attributes:
        train: the questions of training: a file, a folder or a pattern, see `TextSource.path`.
        validation: others, or None to take those of a tenth of the contexts of training.
        test: likewise.
        task: which this is.
    """

    train: str
    validation: str | None = None
    test: str | None = None
    task: Literal["question_answering"] = "question_answering"

    def __post_init__(self) -> None:
        require("QuestionSource.train", self.train)
        known = get_args(self.__annotations__["task"])
        check("QuestionSource", "task", self.task in known, f"be one of {known}", self.task)

    def check(self) -> None:
        """Raises InputError unless the files can be read and all answers stand where they are said to."""
        self.splits()

    def fingerprint(self) -> str:
        """The digest of the files.

        Raises:
            InputError: a file is missing.
        """
        return _fingerprint(self, _QUESTION_KINDS)

    def splits(self) -> dict[str, list[Question]]:
        """The questions of each split that is given.

        Raises:
            InputError: a file is missing, malformed or holds no question; an answer does not stand where it is said
                to, or two questions of a split have the same id.
        """
        paths = given_splits(self.train, self.validation, self.test)
        return {split: _read_questions(path) for split, path in paths.items()}


def _read_questions(path: str) -> list[Question]:
    questions: list[Question] = []
    for file in match_files(path, _QUESTION_KINDS, what="the file of questions"):
        if extension(file) == ".json":
            questions += read_squad(file)
        else:
            questions += map(parse_question, read_records(file, QUESTION_FIELDS))
    if not questions:
        raise InputError(f"{path} must hold at least one question, got none")
    id_, times = Counter(question.id for question in questions).most_common(1)[0]
    if times > 1:
        raise InputError(f"the ids of {path} must differ, got {id_!r} {times} times")
    return questions


def _fingerprint(source: SentenceSource | QuestionSource, kinds: tuple[str, ...]) -> str:
    settings = {name: value for name, value in dataclasses.asdict(source).items() if name not in _SPLITS}
    paths = given_splits(source.train, source.validation, source.test)
    return fingerprint_splits(repr(sorted(settings.items())), paths, kinds)
