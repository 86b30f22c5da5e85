"""Settings that suit rows: their lengths decide `max_length`, their number the epochs, the checkpoint the student."""

import dataclasses
import math
from typing import NamedTuple

from components.examples.registry import TASK_ROWS
from components.examples.row_traits import RowTraits, TokenTraits, percentile
from components.examples.source_rows import AnySource, reads_pairs
from components.sources.checkpoint import Checkpoint
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.shared import SPLITS
from keras_bert.options.training import RETRIEVAL_RATE, suggest_epochs, suggest_new_pairs, suggest_rates
from pipeline.capabilities import CAPABILITIES
from pipeline.proposal import RECIPE, Setting, SettingsTable, propose_class_weights
from pipeline.workload import EncoderSize, RowLengths, TrainingWork

# Rows that are longer are cut, or read in windows; one of two lengths takes half of the time.
_KEPT_PERCENT = 98
_SHORTEST, _LONGEST, _STEP = 16, 512, 8
# SQuAD's windows in Devlin et al. 2019 (run_squad.py).
_LONGEST_WINDOW = 384
_BATCH_SIZE = 32
# For `retrieval`, a batch's other passages are the wrong answers.
_BATCH_OF_QUERIES = 64


class Draft(NamedTuple):
    """A job for rows: its tables, and its trainings for an estimate of time; None where sizes are unknown."""

    tables: list[SettingsTable]
    works: list[TrainingWork] | None


def propose_settings(
    name: str, source: AnySource, checkpoint: Checkpoint, rows: RowTraits, tokens: TokenTraits
) -> Draft:
    """Settings for the rows of a source."""
    lengths, size = _propose_lengths(source, checkpoint, tokens), EncoderSize.of_checkpoint(checkpoint)
    rates, batch_size = suggest_rates(size and size.hidden_size), _BATCH_SIZE
    if isinstance(source, RetrievalSource):
        rates, batch_size = (RETRIEVAL_RATE, rates[1]), _BATCH_OF_QUERIES
    rate = Setting("learning_rate", rates[0], "" if size is None else f"for {size.hidden_size} hidden units")
    start = [
        SettingsTable("", [Setting("name", name), *lengths]),
        SettingsTable("checkpoint", [Setting("path", checkpoint.path, "the encoder to start from")]),
        SettingsTable("examples", _source_settings(source)),
    ]
    for capability in CAPABILITIES:
        proposal = capability.propose(source, rows, rate)
        if proposal is not None:
            read = RowLengths.of_tokens(tokens.lengths, proposal.texts, lengths[0].value, source.task)
            works = None if size is None else [TrainingWork(read.rows, read.tokens, size)]
            return Draft([*start, *proposal.tables], works)
    epochs = suggest_epochs(rows.rows)
    student = None if size is None or size.layers < 2 else size._replace(layers=size.layers // 2)
    training = [
        Setting("epochs", epochs, f"for {rows.rows} rows: the fewer, the more"),
        Setting("batch_size", batch_size),
        rate,
        *propose_class_weights(rows),
    ]
    tables = [*start, SettingsTable("fine_tuning", training)]
    new_pairs = suggest_new_pairs(rows.rows) if reads_pairs(source) else 0
    if size is not None and student is not None:
        reason = f"half of the checkpoint's {size.layers}; without [student] the teacher is exported"
        tables += [
            SettingsTable("student", [Setting("num_layers", student.layers, reason)]),
            SettingsTable("distillation", [Setting("epochs", epochs), Setting("learning_rate", rates[1])]),
        ]
        if new_pairs:
            reason = "of each first text, for the student, which the teacher labels"
            tables.append(SettingsTable("teacher_labels", [Setting("new_pairs", new_pairs, reason)]))
    tables.append(SettingsTable("quantization", [RECIPE, Setting("epochs", 1.0)]))
    if size is None:
        return Draft(tables, None)
    read, last = RowLengths.of_tokens(tokens.lengths, rows.rows, lengths[0].value, source.task), student or size
    works = [TrainingWork(epochs * read.rows, read.tokens, size), TrainingWork(read.rows, read.tokens, last, last)]
    if student is not None:
        works.append(TrainingWork(epochs * read.rows * (1 + new_pairs), read.tokens, student, size))
    return Draft(tables, works)


def _propose_lengths(source: AnySource, checkpoint: Checkpoint, tokens: TokenTraits) -> list[Setting]:
    """`max_length`, and for questions that are long the most tokens of one."""
    is_question = isinstance(source, QuestionSource)
    limit = min(checkpoint.size("max_length") or _LONGEST, _LONGEST_WINDOW if is_question else _LONGEST)
    quantile = percentile(tokens.lengths, _KEPT_PERCENT)
    length = min(limit, max(_SHORTEST, _STEP * math.ceil(quantile / _STEP)))
    share = sum(count > length for count in tokens.lengths) / len(tokens.lengths)
    longer = f"{100 * share:.1f} % are {TASK_ROWS[source.task].long_rows}"
    reason = f"{_KEPT_PERCENT} % of rows have at most {quantile} tokens; {longer}"
    settings = [Setting("max_length", length, reason)]
    question = percentile(tokens.first_lengths, _KEPT_PERCENT)
    if is_question and question > length // 6:
        most = min(question, length // 2 - 4)
        settings.append(Setting("max_query_length", most, f"{_KEPT_PERCENT} % of questions have at most {question}"))
    return settings


def _source_settings(source: AnySource) -> list[Setting]:
    """The fields of a source that are not at their defaults, splits first."""
    fields = {field.name: field for field in dataclasses.fields(source)}
    names = [*SPLITS, *(name for name in fields if name not in SPLITS)]
    changed = [name for name in names if name == "task" or getattr(source, name) != fields[name].default]
    reasons = {"scale": "the largest label; labels are divided by it", "task": "a guess: see above"}
    settings = [Setting(name, getattr(source, name), reasons.get(name, "")) for name in changed]
    missing = [name for name in SPLITS if getattr(source, name) is None]
    if missing:
        train = settings[0]
        settings[0] = train._replace(reason=f"a tenth of the rows each for {' and '.join(missing)} is taken out of it")
    return settings
