"""The task and the source of rows, guessed from a file: a table, tagged words, or questions as SQuAD has them."""

import itertools
import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.classification import ClassificationRows
from components.examples.registry import TASK_ROWS
from components.examples.regression import EmbeddingRows, RegressionRows
from components.examples.reranking import RerankingRows
from components.examples.source_rows import AnySource
from components.files.paths import match_files
from components.files.tables import RECORD_KINDS
from components.files.text_files import Lines, extension
from components.sources.label_sets import LabelSetSource
from components.sources.questions import QUESTION_FIELDS, QuestionSource
from components.sources.registry import TASK_SOURCES
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.tag_schemes import find_tag_error
from components.sources.tagged_words import SentenceSource
from pipeline.draft.columns import (
    LABEL_NAMES,
    RELEVANCE_NAMES,
    Roles,
    TableColumn,
    find_roles,
    find_tagged_columns,
    is_number,
    read_sample,
)

_TAGGED_KINDS = (".conll", ".conllu", ".txt")
_KINDS = (*RECORD_KINDS, *_TAGGED_KINDS, ".json")
# Whole numbers with more different values than this are numbers, not names of labels.
_MOST_NUMERIC_LABELS = 20
_LINES = 1000
_SEPARATORS = (",", ";", "|")
_PREFIX = re.compile(r"[a-z]{2,3}:")
# The first scheme that most sentences follow is taken; tags that follow several schemes mean the same in the first.
_SCHEMES = ("BIO", "IOB1", "IOBES", "BILOU")
_FITTING_SHARE = 0.9

# Names of the columns of queries and passages in public data sets, in lower case.
_QUERIES = ("query", "question", "anchor")
_PASSAGES = ("passage", "positive", "pos", "answer", "context", "document")
# The columns of a table whose task is sure: it is re-ranking where relevances stand beside them, else retrieval.
_RANKED = (RetrievalSource.query, RetrievalSource.passage)


class DraftRequest(NamedTuple):
    """The choices of the user; `guess_source` guesses the others."""

    train: str
    validation: str | None = None
    test: str | None = None
    task: str | None = None
    text: str | None = None
    label: str | None = None
    second_text: str | None = None

    def paths(self) -> dict[str, Any]:
        """The paths of the splits that the user named."""
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return {split: path for split, path in splits.items() if path is not None}


class Guess(NamedTuple):
    """A source, and the reasons for what was guessed about it."""

    source: AnySource
    reasons: list[str]
    advice: str = ""


def guess_source(request: DraftRequest) -> Guess:
    """The source of rows that suits a file."""
    files = match_files(request.train, _KINDS, what="the rows")
    kind = extension(files[0])
    if (kind not in _KINDS or kind == ".txt") and not _looks_tagged(files[0]):
        raise InputError(
            f"the rows must be {', '.join(_KINDS)}, or have a word and its tag a line, got {files[0]}; convert them to "
            "one of these: lines of fastText to columns of texts and labels, and name a table .csv or .tsv"
        )
    if kind == ".json" or request.task == QuestionSource.task:
        return _as_questions(request, files[0])
    if kind not in RECORD_KINDS or (kind == ".tsv" and _looks_tagged(files[0])):
        return _as_tagged_words(request, files[0], {}, "a word and its tag a line")
    columns = read_sample(files)
    names = [column.name for column in columns]
    if request.task is None and set(QUESTION_FIELDS) <= set(names):
        return _as_questions(request, files[0])
    lower = set(map(str.lower, names))
    is_unlabelled = request.label is None and lower.isdisjoint(LABEL_NAMES)
    is_ranked = request.task is None and is_unlabelled and lower.issuperset(_RANKED)
    if is_ranked or issubclass(TASK_SOURCES.get(request.task or "", TableSource), RetrievalSource):
        return _as_retrieval(request, names, files[0])
    tagged = find_tagged_columns(columns) if request.task in (None, SentenceSource.task) else None
    if tagged is not None:
        fields = dict(zip(("words", "tags"), tagged, strict=True))
        return _as_tagged_words(
            request, files[0], fields, f"a list of words, {tagged[0]!r}, and of tags, {tagged[1]!r}"
        )
    if request.task == SentenceSource.task:
        raise InputError(f"the table {files[0]} must have a list of words and one of tags, got {', '.join(names)}")
    numbers = request.task is not None and TASK_ROWS[request.task].answers_numbers
    roles = find_roles(columns, files[0], request.text, request.label, request.second_text, numbers=numbers)
    if roles.text.count_distinct() < 2:
        text = str(next(iter(roles.text.values), ""))[:40]
        raise InputError(
            f"column {roles.text.name!r} of {files[0]} must hold different texts, got {text!r} in all "
            f"{len(roles.text.values)} rows"
        )
    reasons = [f"columns: {', '.join(names)}", *_describe_texts(roles, columns)]
    fields = _find_label_sets(roles, columns) if request.task in (None, LabelSetSource.task) else {}
    if fields or request.task == LabelSetSource.task:
        return _as_label_sets(request, roles, reasons, fields)
    return _as_table(request, roles, reasons)


def _describe_texts(roles: Roles, columns: Sequence[TableColumn]) -> list[str]:
    """A line for each column of texts; the last one ends with the flags that choose others."""
    lines = [f"text: column {roles.text.name!r}, {roles.text.mean_words():.1f} words on average"]
    flags = [
        f"--text {shlex.quote(column.name)} reads {column.mean_words():.1f} words"
        for column in columns
        if column.holds_texts and column not in (roles.text, roles.second_text, roles.label)
    ]
    if roles.second_text is not None:
        lines.append(f"second text: column {roles.second_text.name!r}")
        flags.append(f"--text {shlex.quote(roles.text.name)} without --second reads one text")
    if flags:
        lines[-1] += f" ({', '.join(flags)})"
    return lines


def _find_label_sets(roles: Roles, columns: Sequence[TableColumn]) -> dict[str, Any]:
    """The settings with which a table has several labels in a row; empty if it has one label in each row.

    Several labels are in lists, in at least two columns of 0 and 1, or in cells with a separator. A separator is only
    recognized if splitting gives fewer different labels than cells, and at most half as many or mostly labels that are
    cells, too.
    """
    if roles.label.holds_lists:
        return {"label": roles.label.name}
    texts = (roles.text, roles.second_text)
    flags = [column.name for column in columns if column not in texts and {*map(str, column.values)} == {"0", "1"}]
    if len(flags) > 1 and roles.label.name in flags:
        return {"label_columns": tuple(flags)}
    cells = {str(value).strip() for value in roles.label.values}
    for mark in _SEPARATORS:
        labels = {part.strip() for cell in cells for part in cell.split(mark)}
        # Not numbers with decimal commas.
        are_few = len(labels) < 2 * len(labels & cells) or 2 * len(labels) <= len(cells)
        if are_few and len(labels) < len(cells) and not all(map(is_number, labels)):
            return {"label": roles.label.name, "separator": mark}
    return {}


def _as_label_sets(request: DraftRequest, roles: Roles, reasons: Sequence[str], fields: dict[str, Any]) -> Guess:
    """A table with any number of labels a row; without lists or columns of 0 and 1, by the separator in most cells."""
    if not fields:
        cells = [str(value) for value in roles.label.values]
        separator = max(_SEPARATORS, key=lambda mark: sum(mark in cell for cell in cells))
        fields = {"label": roles.label.name, "separator": separator}
    columns = {"text": roles.text.name, **fields}
    if roles.second_text is not None:
        columns["second_text"] = roles.second_text.name
    reason = f"task: multi_label, by {', '.join(f'{name} {value!r}' for name, value in fields.items())}"
    reason += " (--task classification reads a cell as one label)" * ("separator" in fields)
    return Guess(LabelSetSource(**request.paths(), **columns), [*reasons, reason])


def _as_retrieval(request: DraftRequest, names: Sequence[str], file: str) -> Guess:
    """Queries and passages; columns whose names begin with `neg` hold negatives."""
    lower = {name.lower(): name for name in names}
    query = request.text or next((lower[name] for name in _QUERIES if name in lower), None)
    passage = request.second_text or next((lower[name] for name in _PASSAGES if name in lower), None)
    if query is None or passage is None or not {query, passage} <= set(names):
        raise InputError(
            f"the table {file} must have a column of queries, {' or '.join(_QUERIES)}, and one of passages, "
            f"{' or '.join(_PASSAGES)}, got {', '.join(names)}; name them by --text and --second"
        )
    negatives = tuple(name for name in names if name.lower().startswith("neg"))
    task = request.task or RetrievalSource.task
    source = TASK_SOURCES[task](**request.paths(), query=query, passage=passage, negatives=negatives)
    reasons = [f"columns: {', '.join(names)}", f"queries: column {query!r}; passages: column {passage!r}"]
    if negatives:
        reasons.append(f"negatives: {', '.join(negatives)}")
    return Guess(source, [*reasons, f"task: {task}, as the rows are queries with passages that answer them"])


def _as_table(request: DraftRequest, roles: Roles, reasons: Sequence[str]) -> Guess:
    """A table, whose label and number of texts decide the task."""
    label, second = roles.label, roles.second_text
    task, reason = _guess_table_task(roles, request) if request.task is None else (request.task, "named by --task")
    if TASK_ROWS[task].answers_numbers and not label.is_numeric:
        other = next((value for value in label.values if not is_number(value)), "nothing")
        raise InputError(f"--task {task} needs numbers in column {label.name!r}, got {str(other)[:40]!r}")
    columns: dict[str, Any] = {"text": roles.text.name, "label": label.name, "task": task}
    if second is not None:
        columns["second_text"] = second.name
    if task == EmbeddingRows.name:
        # The largest label of all rows of all splits: rows after the sample may have larger labels.
        source = TableSource(request.train, **{**columns, "task": RegressionRows.name})
        rows = (row for path in request.paths().values() for row in source.read(path))
        columns["scale"] = max(abs(float(row.label)) for row in rows) or 1.0
    labels = f"label: column {label.name!r}, {label.count_distinct()} different values"
    reasons = [*reasons, labels, f"task: {task}, {reason}"]
    distinct, count = label.count_distinct(), len(label.values)
    advice = f"; column {label.name!r} has {distinct} different values in {count} rows: --label names another"
    if label.is_numeric:
        advice = f"; --task regression reads column {label.name!r} as amounts"
    source = TASK_SOURCES[task](**request.paths(), **columns)
    return Guess(source, reasons, advice * (task == ClassificationRows.name))


def _guess_table_task(roles: Roles, request: DraftRequest) -> tuple[str, str]:
    label, distinct = roles.label, roles.label.count_distinct()
    texts = tuple(column.name.lower() for column in (roles.text, roles.second_text) if column is not None)
    if texts == _RANKED and label.name.lower() in RELEVANCE_NAMES and label.is_numeric:
        return RerankingRows.name, f"as {label.name!r} holds numbers for queries and passages"
    is_few = distinct <= _MOST_NUMERIC_LABELS
    is_category = not label.is_numeric or (is_few and all(float(value).is_integer() for value in label.values))
    if is_category:
        other = ", not numbers (else --task regression)" if label.is_numeric else ""
        cells = [str(value) for value in label.values]
        if label.has_decimal_commas:
            if not is_few:
                comma = next(cell for cell in cells if "," in cell)
                raise InputError(
                    f"column {label.name!r} of {request.train} must have numbers with decimal points, got {comma!r}; "
                    "replace the commas, or --task classification reads the numbers as names"
                )
            other = " (with decimal points instead of commas, --task regression reads numbers)"
        marks = [mark for mark in _SEPARATORS if 2 * sum(mark in cell for cell in cells) > len(cells)]
        if marks and not other:
            other = f" (--task multi_label reads several labels, separated by {marks[0]!r})"
        return ClassificationRows.name, f"as {label.name!r} has {distinct} different values that are names{other}"
    if roles.second_text is None:
        return RegressionRows.name, f"as {label.name!r} holds numbers"
    reason = f"as {label.name!r} holds numbers for pairs of texts (--task regression reads both texts at once)"
    return EmbeddingRows.name, reason


def _as_questions(request: DraftRequest, file: str) -> Guess:
    _check_task(request, QuestionSource.task, file)
    reason = "task: question_answering, as the rows are questions with answers in a context"
    return Guess(QuestionSource(**request.paths()), [reason])


def _as_tagged_words(request: DraftRequest, file: str, fields: dict[str, str], form: str) -> Guess:
    """Tagged words; their scheme is BIO, IOB1, IOBES or BILOU if nearly all sentences follow it, else any."""
    _check_task(request, SentenceSource.task, file)
    fields = {name: value for name, value in fields.items() if value != name}
    if not fields and extension(file) != ".conllu" and (prefix := _find_prefix(file)):
        fields["prefix"] = prefix
    sentences = SentenceSource(train=request.train, **fields).read_tags(request.train)  # type: ignore[arg-type]
    fitting = {name: sum(find_tag_error(tags, name) is None for tags in sentences) for name in _SCHEMES}
    scheme = max(_SCHEMES, key=fitting.__getitem__)
    # Many files have a few wrong tags; errors name them when the rows are read.
    if fitting[scheme] < _FITTING_SHARE * len(sentences):
        scheme = "any"
    if scheme != "BIO":
        fields["scheme"] = scheme
    reason = "that mark no entities by a scheme" if scheme == "any" else f"in the scheme {scheme}"
    reasons = [f"task: token_classification, as the rows have {form}", f"tags {reason}"]
    return Guess(SentenceSource(**request.paths(), **fields), reasons)  # type: ignore[arg-type]


def _check_task(request: DraftRequest, task: str, file: str) -> None:
    if request.task not in (None, task):
        readable = [name for name in TASK_ROWS if name != task]
        raise InputError(f"--task must be {task} for {file}, got {request.task}; {', '.join(readable)} read tables")


def _looks_tagged(file: str) -> bool:
    """Whether a file has sentences between blank lines, with a tag at the end of each other line."""
    lines = list(itertools.islice(Lines(file), _LINES))
    cells = [line.split("\t") if "\t" in line else line.split() for line in lines if line.strip()]
    last = [row[-1].strip() for row in cells]
    blank = len(lines) - len(cells)
    return blank > 0 and all(len(row) > 1 and " " not in row[-1] for row in cells) and len(set(last)) * 2 <= len(last)


def _find_prefix(file: str) -> str:
    """The prefix of all words in a file of columns, such as `en:` in WikiANN; empty if there is none."""
    if extension(file) in RECORD_KINDS and extension(file) != ".tsv":
        return ""
    lines = (line for line in itertools.islice(Lines(file), _LINES) if line.strip())
    prefixes = {match[0] if (match := _PREFIX.match(line)) else "" for line in lines}
    return prefixes.pop() if len(prefixes) == 1 else ""
