"""Questions with answers in a context: SQuAD's JSON (v1.1 and v2.0), or the same as rows."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.paths import match_files
from components.files.tables import RECORD_KINDS, Record, as_text, parse_json, read_records
from components.files.text_files import Lines, extension
from components.sources.shared import KeptColumns, LabelledFiles, NotedSplits
from keras_bert.core.validation import validated_dataclass

_KINDS = (".json", *RECORD_KINDS)

# The columns of a row, as `datasets` (Hugging Face) names them.
QUESTION_FIELDS = ("id", "question", "context", "answers")
# An answer that stands so many characters from its answer_start is moved: offsets of bytes or of stripped texts.
_NEAR = 3


class Question(NamedTuple):
    """One question.

    Attributes:
        answers: pairs of a text and the index of its first character in the context; more than one if annotators
            disagree, none if the context does not answer the question.
    """

    id: str
    question: str
    context: str
    answers: tuple[tuple[str, int], ...]


@dataclasses.dataclass
class AnswerPlaces:
    """How many answers were moved to where they stand in the context, and an error for each that is not near."""

    moved: int = 0
    lost: list[str] = dataclasses.field(default_factory=list)


@validated_dataclass(kw_only=False)
class QuestionSource(LabelledFiles):
    """Questions whose answers are spans of a context.

    Files are SQuAD's `.json` (v1.1 or v2.0), or tables with one question per row and the fields `id`, `question`,
    `context` and `answers`, see `components.sources.questions.parse_question`.

    Attributes:
        task: `question_answering`.
    """

    task: Literal["question_answering"] = "question_answering"

    kinds: ClassVar[tuple[str, ...]] = _KINDS

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """See `LabelledFiles.splits`; the ids of a split must differ, and a training question must have an answer."""
        places = {split: AnswerPlaces() for split in self.paths()}
        splits = NotedSplits({split: self._read(path, places[split]) for split, path in self.paths().items()})
        rule = f"stood up to {_NEAR} characters from their answer_start and were moved there"
        splits.notes = [f"{part.moved} answers of {split} rows {rule}" for split, part in places.items() if part.moved]
        if not any(question.answers for question in splits["train"]):
            raise InputError(
                f"{self.train} must hold at least one question with an answer to learn from, got none in "
                f"{len(splits['train'])} questions"
            )
        return splits

    def _read(self, path: str, places: AnswerPlaces) -> list[Question]:
        questions: list[Question] = []
        for file in match_files(path, _KINDS, what="the file of questions"):
            if extension(file) == ".json":
                questions += read_squad(file, places)
            else:
                questions += (parse_question(record, places) for record in read_records(file, QUESTION_FIELDS))
        if places.lost:
            raise InputError("; ".join(places.lost))
        if not questions:
            raise InputError(f"{path} must hold at least one question, got none")
        id_, times = Counter(question.id for question in questions).most_common(1)[0]
        if times > 1:
            raise InputError(f"the ids of {path} must differ, got {id_!r} {times} times")
        return questions


def read_squad(file: str, places: AnswerPlaces | None = None) -> Iterator[Question]:
    """The questions of a SQuAD file (Rajpurkar et al. 2016, 2018); `plausible_answers` are left out.

    With `places`, answers that are not in the context near their `answer_start` are listed and left out.
    """
    whole = parse_json("\n".join(Lines(file)), file)
    if isinstance(whole, list):
        rule = "must be a JSON object as SQuAD's"
        raise InputError(f"{file} {rule}, got a list of {len(whole)}; write rows to a .jsonl file, an object a line")
    for number, article in enumerate(_get_list(whole, "data", file)):
        at = f"{file} data[{number}]"
        for place, paragraph in enumerate(_get_list(article, "paragraphs", at)):
            inside = f"{at}.paragraphs[{place}]"
            context = as_text(_get(paragraph, "context", inside), inside, "context")
            for order, entry in enumerate(_get_list(paragraph, "qas", inside)):
                where = f"{inside}.qas[{order}]"
                id_ = as_text(_get(entry, "id", where), where, "id")
                where = f"{where} (id {id_!r})"
                question = as_text(_get(entry, "question", where), where, "question")
                given = _get_list(entry, "answers", where)
                answers = [(_get(answer, "text", where), _get(answer, "answer_start", where)) for answer in given]
                if entry.get("is_impossible") and answers:
                    raise InputError(f"{where} must have no answers as it is_impossible, got {len(answers)}")
                yield _check(id_, question, context, answers, where, places)


def parse_question(record: Record, places: AnswerPlaces | None = None) -> Question:
    """The question of a row with `QUESTION_FIELDS`.

    `answers` is {"text": [...], "answer_start": [...]}, or the same as a JSON string.
    """
    id_, question, context = (
        as_text(value, record.where, field) for field, value in zip(QUESTION_FIELDS[:3], record.values[:3], strict=True)
    )
    where = f"{record.where} (id {id_!r})"
    answers = record.values[3]
    if isinstance(answers, str | bytes):
        answers = parse_json(as_text(answers, where, "answers"), f"{where}: field 'answers'")
    texts, starts = (_get_list(answers, field, f"{where}: field 'answers'") for field in ("text", "answer_start"))
    if len(texts) != len(starts):
        raise InputError(f"{where}: answers must have as many text as answer_start, got {len(texts)} and {len(starts)}")
    return _check(id_, question, context, list(zip(texts, starts, strict=True)), where, places)


def as_fields(question: Question) -> dict[str, Any]:
    """Converts a question to the row that `parse_question` reads."""
    texts, starts = ([answer[side] for answer in question.answers] for side in (0, 1))
    return {**question._asdict(), "answers": {"text": texts, "answer_start": starts}}


def _check(
    id_: str, question: str, context: str, answers: list[tuple[Any, Any]], where: str, places: AnswerPlaces | None
) -> Question:
    for field, text in (("id", id_), ("question", question), ("context", context)):
        if not text.strip():
            raise InputError(f"{where}: field {field!r} must not be empty")
    checked = []
    for value, start in answers:
        text = as_text(value, where, "text")
        if not isinstance(start, int) or isinstance(start, bool):
            raise InputError(f"{where}: answer_start must be a whole number, got {start!r}")
        near = sorted(range(max(start - _NEAR, 0), start + _NEAR + 1), key=lambda place: abs(place - start))
        position = next((place for place in near if context.startswith(text, place)), None)
        if position is None or not text.strip():
            there = context[max(start, 0) : max(start + len(text), 0)]
            error = f"{where}: the answer {text!r} must stand in the context at {start}, got {there!r} there"
            if places is None:
                raise InputError(error)
            places.lost.append(error)
            continue
        if places is not None:
            places.moved += position != start
        checked.append((text, position))
    return Question(id_, question, context, tuple(checked))


def _get(value: Any, field: str, where: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a JSON object, got {str(value)[:40]}")
    if field not in value:
        raise InputError(f"{where} has no field {field!r}{nearest(field, value)}")
    return value[field]


def _get_list(value: Any, field: str, where: str) -> list[Any]:
    items = _get(value, field, where)
    if not isinstance(items, list):
        raise InputError(f"{where}: field {field!r} must be a list, got {str(items)[:40]}")
    return items
