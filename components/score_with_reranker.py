"""TaskExamples of retrieval -> the same with a re-ranker's scores of passages and negatives."""

import functools
import logging
import shutil
from typing import TYPE_CHECKING

from components.artifacts.standard import TaskExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.examples.base import Encoding
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from components.examples.retrieval import RetrievalRows
from components.examples.row_schema import SCHEMA_FILE
from components.sources.reranker import Reranker
from components.sources.shared import SPLITS
from components.training.scored_candidates import score_candidates, similarities
from keras_bert.core.checks import check
from keras_bert.options.data import Prompts

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


@component(
    libraries=(
        *("ai-edge-litert", "keras", "numpy", "onnxruntime", "safetensors"),
        *("tensorflow", "tensorflow-text", "tokenizers"),
    ),
    kind="training",
)
def score_with_reranker(
    reranker: Reranker,
    vocabulary: Input[Vocabulary],
    examples: Input[TaskExamples],
    scored: Output[TaskExamples],
    scale: float | None = None,
) -> None:
    """Scores the passage and the negatives of each query, so that vectors learn from both (Hofstätter et al. 2020).

    Scores that the rows have already are replaced. Queries without negatives have no scores, and test rows have none.

    The re-ranker reads a query and a passage together, and gives one number; or it is a model of vectors, whose
    similarities are multiplied by `scale`, as in the loss; see `similarities` for None.

    Raises:
        InputError: the model gives neither numbers nor vectors, or no training query has a negative.
    """
    from keras_bert.data.records import write_features, write_records
    from keras_bert.data.schemas import TEACHER_ANSWERS, given_answers
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tokenizers.loading import load_tokenizer

    content = examples.features()
    is_retrieval = isinstance(TASK_ROWS[content["task"]], RetrievalRows)
    check("score_with_reranker", "examples", is_retrieval, "be rows of retrieval", content["task"])
    task = reranker.load()
    score = similarities(task, scale) if isinstance(task, Embedding) else functools.partial(_find_logits, task)
    task_rows, given = TASK_ROWS[content["task"]], given_answers(content["task"])
    encoding = Encoding(
        load_tokenizer(vocabulary.path),
        [],
        content["max_length"],
        stride=0,
        max_query_length=0,
        has_teacher_answers=True,
        prompts=Prompts(**content["settings"]["prompts"]),
    )
    splits = {split: read_rows(examples, split) for split in SPLITS}
    done, total = 0, sum(len(rows) for split, rows in splits.items() if split != "test")
    for split, rows in splits.items():
        if split != "test":
            rows = score_candidates(rows, score, functools.partial(_report, split, done, total))
            done += len(rows)
            scored.counts[split] = sum(len(row.teacher.numbers) for row in rows if row.teacher)
        if split == "train" and not scored.counts[split]:
            raise InputError("examples must have negatives to be scored by a re-ranker, got none; set hard_negatives")
        write_records(scored.file(f"{split}.tfrecord"), task_rows.records(rows, encoding))
        write_rows(scored.file(f"{split}.jsonl.gz"), task_rows, rows)
    shutil.copyfile(examples.file(SCHEMA_FILE), scored.file(SCHEMA_FILE))
    content["features"] |= {name: feature.meaning for name, feature in given.items()}
    content[TEACHER_ANSWERS] = {"shape": task_rows.answer_shape([]), "along": False, "filling": 0.0}
    write_features(scored.path, content)
    logger.info("%d scores of training queries", scored.counts["train"])


def _report(split: str, before: int, total: int, done: int) -> None:
    report_progress(before + done, total, f"scoring {split}")


def _find_logits(task: "Task", queries: list[str], passages: list[str]) -> list[float]:
    """The scores of pairs without the activation of a re-ranker, which would hide how far apart they are."""
    return [float(logit[0]) for logit in task.outputs(queries, passages)]
