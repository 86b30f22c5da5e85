"""TaskExamples of retrieval -> the same with hard negatives for the training queries."""

import logging
import shutil

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.base import Encoding
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from components.examples.retrieval import RetrievalRows
from components.examples.row_schema import SCHEMA_FILE
from components.sources.shared import SPLITS
from components.training.mined_negatives import mine_rows
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings, build_task
from keras_bert.core.checks import check
from keras_bert.options.data import Pooling, Prompts
from keras_bert.options.fine_tuning import HardNegatives

logger = logging.getLogger(__name__)


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"), kind="training")
def mine_hard_negatives(
    model: Input[Model],
    examples: Input[TaskExamples],
    mined: Output[TaskExamples],
    pooling: Pooling | None = None,
    hard_negatives: HardNegatives = HardNegatives(),
) -> None:
    """Searches the training passages with a model, and adds near passages to each query as negatives.

    Validation and test rows do not change, so that scores with and without mined negatives can be compared.

    If the model is not a retrieval model, its encoder makes vectors with `pooling`, see `HeadSettings`.
    """
    from keras_bert.data.records import write_features, write_records
    from keras_bert.data.schemas import TEACHER_ANSWERS
    from keras_bert.tasks.retrieval import Retrieval

    content = examples.features()
    is_retrieval = content["task"] == RetrievalRows.name
    check("mine_hard_negatives", "examples", is_retrieval, "be rows of retrieval", content["task"])
    task, rows = read_model(model), read_rows(examples, "train")
    # Kinds of retrieval with other vectors give their encoder, too.
    if task.name != RetrievalRows.name:
        task = build_task(task, content, HeadSettings(pooling))
    assert isinstance(task, Retrieval)
    report_progress(0, 2, "searching passages")
    result = mine_rows(
        rows,
        lambda texts: task.predict(texts, prompt="query"),
        lambda texts: task.predict(texts, prompt="passage"),
        hard_negatives,
    )
    report_progress(1, 2, "tokenizing train")
    task_rows, length = TASK_ROWS[RetrievalRows.name], content["max_length"]
    encoding = Encoding(
        task.tokenizer,
        [],
        length,
        stride=0,
        max_query_length=0,
        has_teacher_answers=TEACHER_ANSWERS in content,
        prompts=Prompts(**content["settings"]["prompts"]),
    )
    content["counts"]["train"] = write_records(mined.file("train.tfrecord"), task_rows.records(result.rows, encoding))
    content["truncated_share"]["train"] = round(encoding.cut[True] / max(1, encoding.cut.total()), 4)
    write_rows(mined.file("train.jsonl.gz"), task_rows, result.rows)
    # The schema describes queries, which do not change.
    for name in [SCHEMA_FILE, *(f"{split}.{kind}" for split in SPLITS[1:] for kind in ("tfrecord", "jsonl.gz"))]:
        shutil.copyfile(examples.file(name), mined.file(name))
    write_features(mined.path, content)
    counts = {"mined": result.mined, "filtered": result.filtered, "without": result.without}
    mined.counts = {**content["counts"], **counts}
    clause = f"{result.filtered} of their candidates were left out, as they are as near as the passage itself"
    logger.info("%d negatives for %d queries; %s", result.mined, len(rows), clause)
    if result.without:
        advice = "raise hard_negatives.candidates or lower hard_negatives.margin"
        logger.warning("%d of %d training queries got no negative; %s", result.without, len(rows), advice)
