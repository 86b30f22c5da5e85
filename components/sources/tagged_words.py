"""Sentences of tagged words: columns as in CoNLL-2003, or rows that hold lists of words and of tags."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.paths import match_files, short_name
from components.files.tables import RECORD_KINDS, Record, as_text, read_records
from components.files.text_files import Lines, extension
from components.sources.shared import KeptColumns, NotedSplits, RowOrigin, check_label, check_labels
from components.sources.tag_schemes import begin_entities, find_tag_error, suggest_scheme, to_bio
from components.sources.teacher_columns import (
    AnyAnswer,
    FilesWithTeacherAnswers,
    TeacherAnswer,
    is_missing,
    most_likely_label,
    read_logits,
)
from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.data.conllu import TAG_COLUMNS, parse_conllu
from keras_bert.metrics.entities import OUTSIDE

# The kinds of files whose rows hold lists of words. All other files, including TSV, have a word on each line, in
# columns.
_LIST_KINDS = tuple(kind for kind in RECORD_KINDS if kind != ".tsv")
_TREEBANK_KIND = ".conllu"
_KINDS = (".conll", ".txt", _TREEBANK_KIND, *RECORD_KINDS)

_DOCUMENT_START = "-DOCSTART-"
_BLANKS = re.compile(" +")
# If all tags begin with one of these, they are tags of entities, see `are_entity_tags`.
_ENTITY_TAGS = ("B-", "I-", "E-", "S-")


class Sentence(NamedTuple):
    """The words of a sentence, a tag for each, and a teacher's answer."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    teacher: AnyAnswer = ()
    origin: RowOrigin = RowOrigin()


class SentenceSplits(NotedSplits):
    """The sentences of each split.

    Attributes:
        heads: the heads of the words of each sentence, by split, see `TreebankSentence.heads`; empty for sentences of
            files that are not `.conllu`.
    """

    def __init__(self, read: Mapping[str, Sequence["_ReadSentence"]]) -> None:
        super().__init__({split: [sentence.row for sentence in sentences] for split, sentences in read.items()})
        self.heads = {split: [sentence.heads for sentence in sentences] for split, sentences in read.items()}
        corrected = {split: sum(sentence.corrected for sentence in read[split]) for split in read}
        rule = "begin with an I- tag, which is read as B-, as conlleval does"
        self.notes = [f"{count} entities of {split} rows {rule}" for split, count in corrected.items() if count]


class _ReadSentence(NamedTuple):
    """A sentence, whose `RowOrigin` is where it starts.

    Attributes:
        where: the start of an error message about a word; the number of the word or line follows.
        corrected: the number of its entities whose first tag is an `I-` that was read as a `B-`.
    """

    row: Sentence
    where: str
    first: int = 1
    heads: tuple[int, ...] = ()
    corrected: int = 0


@validated_dataclass(kw_only=False)
class SentenceSource(FilesWithTeacherAnswers):
    """Sentences with a tag for each word.

    Files have a word on each line, in columns as in CoNLL's files (any extension, also `.tsv`), or a sentence in each
    row, with a list of words and a list of tags (`.jsonl`, `.parquet`, `.arrow`; in `.csv` strings with blanks between
    the words). Of treebanks (`.conllu`) the forms and the universal parts of speech are read.

    Attributes:
        word_column: the index of the column of words, from 0; negative indices count from the end.
        tag_column: the index of the column of tags, from 0; negative indices count from the end. In `.conllu` files 3
            (UPOS, the default), 4 (XPOS) or 7 (DEPREL).
        prefix: a text that every word begins with and that is removed, such as `en:` in WikiANN.
        words: the field of the list of words in a row.
        tags: the field of the list of tags in a row.
        scheme: the tagging scheme of entities: `BIO`, where each entity starts with a `B-` tag (an `I-` that continues
            no entity is counted, and read as `B-`, as conlleval does); `IOB1`, where only an entity
            directly after another one of its type starts with `B-`, as in the distributed files of CoNLL-2003; `IOBES`
            or `BILOU`, with further tags for the last word and for entities of one word. All are converted to BIO.
            `any` is for tags that do not mark entities, such as parts of speech.
        task: `token_classification`.
    """

    word_column: int = 0
    tag_column: int = -1
    prefix: str = ""
    words: NonEmptyStr = "words"
    tags: NonEmptyStr = "tags"
    scheme: Literal["BIO", "IOB1", "IOBES", "BILOU", "any"] = "BIO"
    task: Literal["token_classification"] = "token_classification"

    kinds: ClassVar[tuple[str, ...]] = _KINDS

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        for field, other in (("tag_column", "word_column"), ("tags", "words")):
            value = getattr(self, field)
            check("SentenceSource", field, value != getattr(self, other), f"be another than {other}", value)
        is_plain = not self.has_teacher_answers or self.scheme in ("BIO", "any")
        check("SentenceSource", "scheme", is_plain, "be 'BIO' or 'any' if there are probabilities", self.scheme)
        return self

    @property
    def label_unit(self) -> Literal["word"]:
        return "word"

    def splits(self, kept: KeptColumns = KeptColumns()) -> SentenceSplits:
        """See `LabelledFiles.splits`; entities are in BIO."""
        splits = super().splits(kept)
        assert isinstance(splits, SentenceSplits)
        return splits

    def read_splits(self, kept: KeptColumns) -> SentenceSplits:
        label_names, read = list[str](), dict[str, list[_ReadSentence]]()
        if self.has_teacher_answers:
            for file in (file for path in self.paths().values() for file in self._files(path)):
                if extension(file) not in _LIST_KINDS:
                    rule = f"be left out for files other than {', '.join(_LIST_KINDS)}"
                    raise InputError(f"examples.probabilities must {rule}, got it with {file}; write a table of lists")
        for split, path in self.paths().items():
            names = self._files(path)
            # Rows of other files have no columns, so that those of a folder of both kinds have none.
            are_tables = all(extension(file) in _LIST_KINDS for file in names)
            has_all = kept.all_of_train and split == "train" and are_tables
            files = {file: self._read_records(file, has_all=has_all) for file in names}
            if split == "train" and self.has_teacher_answers:
                files = {file: [*records] for file, records in files.items()}
                label_names = self.answer_labels(itertools.chain.from_iterable(files.values()))
            read[split] = self._read(path, files, label_names, has_all=has_all)
        splits = SentenceSplits(read)
        for split in splits.keys() - {"train"}:
            if any(row.teacher and row.teacher.is_label for row in splits[split]):
                raise InputError(
                    f"{split} must have tags in all rows, as models are measured on them; leave others out"
                )
        self.check_answer_labels(label_names, self._tag_set(splits["train"]))
        tags = {split: self._tag_set(sentences) for split, sentences in splits.items()}
        check_labels(tags, self.train)
        if any(tag[:2] in _ENTITY_TAGS for tag in tags["train"]) and OUTSIDE not in tags["train"]:
            raise InputError(f"{self.train} must have the tag O besides those of entities, got {sorted(tags['train'])}")
        return splits

    def label_order(self, labels: Collection[str]) -> list[str]:
        """The tags that a model of sentences with these tags predicts; each type of entity has `B-` and `I-`."""
        if self.scheme == "any":
            return sorted(labels)
        return sorted({"O"} | {f"{kind}{tag[1:]}" for tag in labels if tag != "O" for kind in "BI"})

    def _tag_set(self, sentences: list[Sentence]) -> set[str]:
        return {*self.label_order({tag for sentence in sentences for tag in sentence.tags})}

    @staticmethod
    def _files(path: str) -> list[str]:
        return match_files(path, _KINDS, what="the file of sentences")

    def read(self, path: str) -> list[Sentence]:
        """The sentences of files, whose tags are not compared with others; raises InputError as `splits`."""
        files = {file: self._read_records(file) for file in self._files(path)}
        return [sentence.row for sentence in self._read(path, files, ())]

    def _read(
        self, path: str, files: Mapping[str, Iterable[Record]], label_names: Sequence[str], *, has_all: bool = False
    ) -> list[_ReadSentence]:
        """The sentences of the files that `path` matches, with their tags in BIO.

        `files` have the records of those files that are tables, see `_read_records`.
        """
        read = list[_ReadSentence]()
        for file, records in files.items():
            parsed = list(self._parse_file(file, records, label_names, path, has_all=has_all))
            for sentence in parsed:
                for number, tag in enumerate(sentence.row.tags, sentence.first):
                    check_label(tag, f"{sentence.where} {number}: the tag")
            has_entity_tags = any(tag[:2] in _ENTITY_TAGS for sentence in parsed for tag in sentence.row.tags)
            for sentence in parsed:
                row, corrected = sentence.row, 0
                tags = begin_entities(row.tags) if self.scheme == "BIO" else row.tags
                if (self.scheme != "any" or has_entity_tags) and (error := find_tag_error(tags, self.scheme)):
                    is_comment = row.words[error[0]].split()[0] == "#"
                    hint = suggest_scheme([other.row.tags for other in parsed], self.scheme)
                    advice = "; remove the line if it is a comment" if is_comment else hint
                    raise InputError(f"{sentence.where} {sentence.first + error[0]}: {error[1]}{advice}")
                if self.scheme != "any":
                    corrected = sum(tag != bio_tag for tag, bio_tag in zip(row.tags, tags, strict=True))
                    row = row._replace(tags=to_bio(row.tags))
                read.append(sentence._replace(row=row, corrected=corrected))
        if not read:
            raise InputError(f"{path} must hold at least one sentence, got none")
        return read

    def read_tags(self, path: str) -> list[tuple[str, ...]]:
        """The tags of each sentence of files as they are written there, in any scheme; raises InputError."""
        return [
            sentence.row.tags
            for file in self._files(path)
            for sentence in self._parse_file(file, self._read_records(file), (), path)
        ]

    def record(self, row: Sentence) -> dict[str, Any]:
        """The sentence under the names of this source's fields, for a `.jsonl` file; entities are in BIO."""
        return {self.words: list(row.words), self.tags: list(row.tags)}

    def own_labels(self, record: Record) -> Collection[str]:
        tags = record.cells.get(self.tags)
        return () if is_missing(tags) else _split(tags, record.where, self.tags)

    def _read_records(self, file: str, *, has_all: bool = False) -> Iterable[Record]:
        """The records of a table, with all cells if `has_all`; none for another file."""
        fields = (self.words,) if self.has_teacher_answers else (self.words, self.tags)
        is_table = extension(file) in _LIST_KINDS
        return read_records(file, fields, has_cells=has_all or self.has_teacher_answers) if is_table else ()

    def _parse_taught(self, record: Record, label_names: Sequence[str]) -> Sentence:
        words, raw = _split(record.values[0], record.where, self.words), self.raw_answer(record)
        place = f"{record.where}: column {self.answer_column!r}"
        if raw is not None and not (isinstance(raw, list) and len(raw) == len(words)):
            got = f"{len(raw)} items" if isinstance(raw, list) else str(raw)[:40]
            raise InputError(f"{place} must be a list of probabilities for each of {len(words)} words, got {got}")
        order = self.list_order(record, label_names)
        logits = [
            read_logits(part, label_names, f"{place}, word {number}", order, log=self.log_probabilities)
            for number, part in enumerate(raw or (), start=1)
        ]
        numbers, tag_cell = tuple(logit for part in logits for logit in part), record.cells.get(self.tags)
        if not is_missing(tag_cell):
            answer: AnyAnswer = () if raw is None else TeacherAnswer(numbers, is_label=False)
            sentence = parse_lists(record._replace(values=(words, tag_cell)), (self.words, self.tags))
            return sentence._replace(teacher=answer)
        if raw is None:
            raise InputError(f"{record.where}: the row must have tags in column {self.tags!r} or a teacher's answer")
        tags = tuple(most_likely_label(part, label_names) for part in logits)
        tags = begin_entities(tags) if self.scheme == "BIO" else tags
        return Sentence(words, tags, TeacherAnswer(numbers, is_label=True))

    def _parse_file(
        self, file: str, records: Iterable[Record], label_names: Sequence[str], path: str, *, has_all: bool = False
    ) -> Iterator[_ReadSentence]:
        """The sentences of a file, with unconverted tags; `label_names` are in the order of the teacher's answers."""
        if extension(file) in _LIST_KINDS:
            for record in records:
                row = (
                    self._parse_taught(record, label_names)
                    if self.has_teacher_answers
                    else parse_lists(record, (self.words, self.tags))
                )
                row = row._replace(origin=RowOrigin.of(record, path, has_all=has_all))
                yield _ReadSentence(row, f"{record.where}, word")
            return
        name = short_name(file, path)
        if extension(file) != _TREEBANK_KIND:
            columns = {"word_column": self.word_column, "tag_column": self.tag_column}
            for row, line in parse_columns(Lines(file), prefix=self.prefix, **columns):
                row = row._replace(origin=RowOrigin(f"{name} line {line}"))
                yield _ReadSentence(row, f"{file} line", first=line)
            return
        tags = {number: name for name, number in TAG_COLUMNS.items()} | {-1: "upos"}
        if self.tag_column not in tags:
            rule = f"be one of {sorted(TAG_COLUMNS.values())} for {_TREEBANK_KIND} files"
            raise InputError(f"SentenceSource.tag_column must {rule}, got {self.tag_column}")
        try:
            for (words, names, heads), line in parse_conllu(Lines(file), file, tags[self.tag_column]):
                where = f"{file} sentence at line {line}, word"
                row = Sentence(words, names, origin=RowOrigin(f"{name} line {line}"))
                yield _ReadSentence(row, where, heads=heads)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from None


def parse_columns(
    lines: Lines, *, word_column: int = 0, tag_column: int = -1, prefix: str = ""
) -> Iterator[tuple[Sentence, int]]:
    """Sentences from lines with one word each; a blank line, or one that starts with `-DOCSTART-`, ends a sentence.

    Tabs separate the columns of a line with tabs, otherwise blanks do. Columns count from 0, negative ones from the
    end. `prefix` is removed from every word, such as `en:` in WikiANN.

    Yields:
        Each sentence, and the number of the line of its first word; each further word is on the next line.
    """
    words: list[str] = []
    tags: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(_DOCUMENT_START):
            word, tag = _parse_line(line, f"{lines.file} line {lines.number}", (word_column, tag_column), prefix)
            words.append(word)
            tags.append(tag)
        elif words:
            yield Sentence(tuple(words), tuple(tags)), lines.number - len(words)
            words, tags = [], []
    if words:
        yield Sentence(tuple(words), tuple(tags)), lines.number - len(words) + 1


def parse_lists(record: Record, fields: tuple[str, str]) -> Sentence:
    """The sentence of a row: two lists of strings, or two strings with blanks between words and between tags."""
    words, tags = (_split(value, record.where, field) for field, value in zip(fields, record.values, strict=True))
    if len(words) != len(tags):
        rule = f"field {fields[1]!r} must hold a tag for each of {len(words)} words"
        raise InputError(f"{record.where}: {rule}, got {len(tags)}")
    return Sentence(words, tags)


def _parse_line(line: str, where: str, columns: tuple[int, int], prefix: str) -> tuple[str, str]:
    cells = line.split("\t") if "\t" in line else _BLANKS.split(line.strip(" "))
    # Column 1 needs two columns, and so does column -2.
    least = max(column + 1 if column >= 0 else -column for column in columns)
    if len(cells) < max(least, 2):
        raise InputError(f"{where} must have at least {max(least, 2)} columns, got {len(cells)}: {line[:40]!r}")
    # Any white space is removed, as by `parse_lists`, which reads these words again after they have been written.
    word, tag = (cells[column].strip() for column in columns)
    if not word.startswith(prefix):
        raise InputError(f"{where}: the word must start with prefix {prefix!r}, got {word!r}")
    word = word.removeprefix(prefix).strip()
    for name, value in (("word", word), ("tag", tag)):
        if not value:
            raise InputError(f"{where}: the {name} must not be empty, got {line[:40]!r}")
    return word, tag


def _split(value: Any, where: str, field: str) -> tuple[str, ...]:
    if isinstance(value, str | bytes):
        value = as_text(value, where, field).split()
    if not isinstance(value, list | tuple) or not value:
        raise InputError(f"{where}: field {field!r} must be a list with at least one string, got {str(value)[:40]}")
    parts = tuple(as_text(part, where, field).strip() for part in value)
    if not all(parts):
        raise InputError(f"{where}: field {field!r} must not hold an empty string, got one at {parts.index('')}")
    return parts
