"""TaskExamples with labels -> TaskExamples of pairs of their texts, from which an encoder learns what labels mean."""

import logging

from components.artifacts.standard import TaskExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.examples.base import Encoding
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from components.examples.regression import EmbeddingRows
from keras_bert.core.checks import check
from plugins.few_shot.paired_rows import PAIRED_TASKS, check_pairable, pair_rows

logger = logging.getLogger(__name__)


@component(libraries=("numpy", "scipy", "tensorflow-text", "tokenizers"))
def pair_examples(
    vocabulary: Input[Vocabulary],
    examples: Input[TaskExamples],
    paired: Output[TaskExamples],
    pairs: int = 20,
    seed: int = 0,
) -> None:
    """Writes pairs of the training texts as rows of the task `embedding`, and of validation and training texts.

    The cosine of a pair is 1 if its texts have a label in common, else 0 (Tunstall et al. 2022, section 3.1). Each
    validation row is paired with training rows, as a label may have only one. Test rows are not read.

    See `plugins.few_shot.label_pairs.draw_label_pairs` for `pairs`.
    """
    from keras_bert.data.records import write_features, write_records
    from keras_bert.data.schemas import SCHEMAS
    from keras_bert.tokenizers.loading import load_tokenizer

    content = examples.features()
    rule = f"be rows of {' or '.join(PAIRED_TASKS)}"
    check("pair_examples", "examples", content["task"] in PAIRED_TASKS, rule, content["task"])
    task, embedding = TASK_ROWS[content["task"]], TASK_ROWS[EmbeddingRows.name]
    train, validation = (read_rows(examples, split) for split in ("train", "validation"))
    check_pairable(task, train)
    rows = {
        "train": pair_rows(task, train, pairs=pairs, seed=seed),
        "validation": pair_rows(task, validation, train, pairs=pairs, seed=seed),
    }
    tokenizer, cut = load_tokenizer(vocabulary.path), {}
    for split, split_rows in rows.items():
        encoding = Encoding(tokenizer, [], content["max_length"], stride=0, max_query_length=0)
        write_records(paired.file(f"{split}.tfrecord"), embedding.records(split_rows, encoding))
        write_rows(paired.file(f"{split}.jsonl.gz"), embedding, split_rows)
        cut[split] = round(encoding.cut[True] / max(1, encoding.cut.total()), 4)
    counts = {split: len(split_rows) for split, split_rows in rows.items()}
    write_features(
        paired.path,
        {
            "task": embedding.name,
            "features": {name: feature.meaning for name, feature in SCHEMAS[embedding.name].items()},
            "settings": embedding.settings(encoding, rows["train"]),
            "max_length": content["max_length"],
            "counts": counts,
            "rows": counts,
            "labels": {},
            "truncated_share": cut,
        },
    )
    paired.counts = counts
    logger.info("%d pairs of %d training rows", counts["train"], len(train))
