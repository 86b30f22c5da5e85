"""The steps of `[teacher]`: a model of vectors as it is, and a teacher's vectors of texts."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError, table_errors
from components.dsl.step_folders import report_progress
from components.examples.base import Encoding
from components.examples.overlap import HELD_OUT, resolve_leaks
from components.examples.registry import TASK_ROWS, read_rows
from components.examples.texts import encode_rows
from components.sources.retrieval import QueryRow
from components.sources.shared import NearOverlap, Overlap
from components.sources.text import line_digest
from components.text.sentences import split_sentences
from components.training.model_folder import read_model, write_model
from components.training.tuning import HeadSettings, build_task
from keras_bert.options.data import Prompts
from plugins.vectors.source import Release, VectorTexts

if TYPE_CHECKING:
    from keras_bert.tasks.embedding import PromptName

Array = np.ndarray[Any, Any]

# One text of this many is held out for validation.
_HELD_OUT = 20


class TaughtVectors(TaskExamples):
    """Texts with the vectors of a teacher: `train.tfrecord`, `validation.tfrecord` and `features.json`."""


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def adopt_model(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    new_head: HeadSettings = HeadSettings(),
    keeps_prompts: bool = True,
    teacher: Input[Model] | None = None,
    release: Release | None = None,
) -> None:
    """A model of vectors as it is, with the task and the maximum length of the examples.

    Args:
        pretrained: the model of vectors.
        examples: the rows.
        model: the model with the task of the rows.
        new_head: the settings of the job that replace those of the model.
        keeps_prompts: whether it keeps its own prompts and truncates its vectors as before, as a teacher does. Else it
            gets the prompts of the examples, and whole vectors, which a student maps to those of its teacher.
        teacher: for the start of a student, the model that it learns from: vectors are compared as the teacher compares
            them. If the comparison depends on their lengths, they are normalized as the teacher's are, too.
        release: instead of it, a version that was pushed.

    Raises:
        InputError: it is no model of vectors, or it has fewer positions than the rows.
    """
    from keras_bert.core.folders import TASK_FILE
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.registry import read_settings

    initial, description = read_model(pretrained), examples.features()
    # Vectors of vocabulary entries or of tokens would be replaced by means that nobody trained.
    if not isinstance(initial, Embedding) or not initial.needs_pooling:
        rule = "be a model of vectors, such as one of sentence-transformers or a saved embedding or retrieval"
        raise InputError(f"teacher.path must {rule}, got one for {initial.name}")
    settings = dict(description["settings"])
    if keeps_prompts:
        settings["prompts"] = vars(initial.prompts)
    function, normalize = initial.similarity_function, new_head.normalize
    folder = release.fetch() if release is not None else None if teacher is None else teacher.path
    if folder is not None:
        imitated = read_settings(folder / TASK_FILE)[1]
        function = imitated.get("similarity_function", "cosine")
        if normalize is None and function != "cosine":
            normalize = imitated.get("normalize")
    task = build_task(
        initial,
        {**description, "settings": settings},
        new_head,
        similarity_function=function,
        normalize=normalize,
        dimension=initial.head().get("dimension") if keeps_prompts else None,
    )
    write_model(model, task, [{"step": 0}], "float32")


@component(
    libraries=(
        *("ai-edge-litert", "keras", "numpy", "onnxruntime", "pyarrow", "sentencex", "tensorflow", "tensorflow-text"),
        "tokenizers",
    ),
    kind="training",
)
def embed_texts(
    vocabulary: Input[Vocabulary],
    examples: Input[TaskExamples],
    taught: Output[TaughtVectors],
    source: VectorTexts | None = None,
    teacher: Input[Model] | None = None,
    release: Release | None = None,
    sentences: int = 0,
    with_rows: bool = False,
    overlap: Overlap = "keep",
    near_overlap: NearOverlap = "keep",
) -> None:
    """Tokenizes texts for students, and computes a teacher's vectors of them once, for all seeds and epochs.

    A twentieth of the texts is held out for validation, by their hash. The texts of rows keep the split of their rows,
    unless they are among the others; no text is in both splits.

    Args:
        vocabulary: the vocabulary of the students.
        examples: the rows, whose prompts and maximum length the students have.
        taught: the texts with vectors.
        source: the texts; None for those of the rows.
        teacher: the model that computes the vectors; None where the source has vectors.
        release: instead of it, a version that was pushed.
        sentences: the most sentences of a passage that are further texts of its split.
        with_rows: whether the texts of the rows are learnt beside those of the source.
        overlap: the treatment of texts of the source that a validation or test row has, too, see `resolve_leaks`.
        near_overlap: the treatment of nearly equal ones.

    Raises:
        InputError: a vector or a text cannot be used, there are fewer than two texts, or all texts of validation rows
            are those of training rows.
    """
    from keras_bert.data.records import write_features, write_records
    from keras_bert.data.schemas import SCHEMAS, TEACHER_ANSWERS, TEXT
    from keras_bert.tokenizers.loading import load_tokenizer

    content = examples.features()
    prompts = Prompts(**content["settings"].get("prompts", {}))
    model: Any = release.load() if release is not None else None if teacher is None else read_model(teacher)
    given = None if source is None else source.read()
    leaks = dict[str, int]()
    if given is None:
        splits = _split_rows(examples)
    else:
        rows = {split: read_rows(examples, split) for split in HELD_OUT}
        task = TASK_ROWS[content["task"]]
        kept, leaks = resolve_leaks(given.texts, rows, task, overlap=overlap, near_overlap=near_overlap)
        splits = hold_out(given.texts, frozenset(given.texts).difference(kept))
    if not splits["validation"]:
        rule = "have a text that no training row has where teacher.texts is left out"
        raise InputError(f"validation rows must {rule}, got none; give teacher.texts")
    taken = {text for chosen in splits.values() for _, text, _ in chosen}
    further = _split_rows(examples) if with_rows else {split: [] for split in splits}
    for split, chosen in splits.items():
        chosen += [text for text in further[split] if text[1] not in taken]
        taken.update(text for _, text, _ in chosen)
    for chosen in splits.values():
        chosen += [text for text in spread_sentences(chosen, sentences) if text[1] not in taken]
        taken.update(text for _, text, _ in chosen)
    encoding = Encoding(load_tokenizer(vocabulary.path), (), content["max_length"], 0, 0)
    counts, cut, width = dict[str, int](), dict[str, float](), 0
    done, total = 0, sum(map(len, splits.values()))
    for split, chosen in splits.items():
        vectors = None if given is None or given.vectors is None else given.vectors[[number for number, *_ in chosen]]
        encoding.cut.clear()

        def records(chosen: Sequence[Any] = chosen, vectors: Any = vectors) -> Iterator[bytes]:
            nonlocal width, done
            for part, values in _embed(model, chosen, vectors):
                width = values.shape[1]
                done += len(part)
                report_progress(done, total, "vectors of texts")
                yield from _serialize(part, values, prompts, encoding)

        counts[split] = write_records(taught.file(f"{split}.tfrecord"), records())
        cut[split] = round(encoding.cut[True] / max(1, counts[split]), 4)
    features = {name: feature.meaning for name, feature in SCHEMAS[TEXT].items()}
    answers = {"shape": [width], "along": False, "filling": 0.0}
    content = {"task": TEXT, "features": features, "max_length": content["max_length"], "counts": counts}
    content["space"] = model.space if model is not None else given.space if given is not None else ""
    write_features(taught.path, {**content, "truncated_share": cut, TEACHER_ANSWERS: answers})
    taught.counts = {**counts, "width": width, **leaks}


# A text: its number in the source, the text, and whether it is a query or a passage.
_Text = tuple[int, str, "PromptName"]


def _split_rows(examples: TaskExamples) -> dict[str, list[_Text]]:
    """The different texts of training rows, and those of validation rows that no training row has.

    Of a retrieval queries come first, then passages, which its splits may share.
    """
    splits, trained = dict[str, list[_Text]](), set[str]()
    for split in ("train", "validation"):
        rows = read_rows(examples, split)
        if isinstance(rows[0], QueryRow):
            texts: list[tuple[str, PromptName]] = [(row.query, "query") for row in rows]
            texts += [(text, "passage") for row in rows for text in (*row.passages, *row.negatives)]
        else:
            texts = [(text, "passage") for row in rows for text in (row.text, row.second_text)]
        new = [text for text in dict.fromkeys(texts) if text[0] not in trained]
        splits[split] = [(number, *text) for number, text in enumerate(new)]
        trained.update(text for text, _ in new)
    return splits


def hold_out(texts: list[str], dropped: Collection[str] = ()) -> dict[str, list[_Text]]:
    """The texts but those that are dropped, a twentieth of them for validation; InputError for fewer than two."""
    digests = sorted({line_digest(text) for text in texts if text not in dropped})
    if len(digests) < 2:
        rule = "hold at least two different texts, one to train on and one to validate on"
        raise InputError(f"teacher.texts must {rule}, got {len(digests)}")
    last = digests[max(1, len(digests) // _HELD_OUT) - 1]
    splits: dict[str, list[_Text]] = {"train": [], "validation": []}
    for number, text in enumerate(texts):
        if text in dropped:
            continue
        splits["validation" if line_digest(text) <= last else "train"].append((number, text, "passage"))
    return splits


def spread_sentences(texts: Sequence[_Text], most: int) -> list[_Text]:
    """At most so many sentences of each passage of several, at even distances."""
    chosen = dict[str, None]()
    for _, text, prompt in texts if most else ():
        parts = split_sentences(text)
        if prompt == "passage" and len(parts) > 1:
            places = np.linspace(0, len(parts) - 1, min(most, len(parts))).round().astype(int)
            chosen.update(dict.fromkeys(parts[place] for place in places))
    return [(-1, text, "passage") for text in chosen]


def _embed(model: Any, texts: Sequence[_Text], vectors: Array | None) -> Iterator[tuple[Sequence[_Text], Array]]:
    """The texts part by part with their vectors; parts are those of `Task.outputs`, so that rounding is the same."""
    from keras_bert.core.vector_codes import check_vectors
    from keras_bert.tasks.base import ROWS_AT_ONCE

    for start in range(0, len(texts), ROWS_AT_ONCE):
        part = texts[start : start + ROWS_AT_ONCE]
        if vectors is not None:
            yield part, vectors[start : start + ROWS_AT_ONCE]
            continue
        prompted = [getattr(model.prompts, prompt) + text for _, text, prompt in part]
        with table_errors("teacher"):
            values, is_finite = check_vectors("teacher", model.predict(prompted), len(part))
        if not is_finite.all():
            text = part[int(np.argmin(is_finite))][1]
            raise InputError(f"teacher.path must be a model of finite vectors, got NaN for the text {text[:40]!r}")
        yield part, values


def _serialize(texts: Sequence[_Text], vectors: Array, prompts: Prompts, encoding: Encoding) -> Iterator[bytes]:
    from keras_bert.data.records import serialize
    from keras_bert.data.schemas import TEACHER_ANSWERS

    prompted = [getattr(prompts, prompt) + text for _, text, prompt in texts]
    for features, vector in zip(encode_rows(prompted, None, encoding), vectors, strict=True):
        yield serialize({**features, TEACHER_ANSWERS: vector})
