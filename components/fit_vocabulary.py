"""Model and TaskExamples -> Model and Vocabulary, reduced to the tokens that the examples need."""

from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors, table_errors
from components.dsl.step_folders import report_progress
from components.training.model_folder import read_model
from components.training.vocabulary import count_tokens


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"))
def fit_vocabulary(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    vocabulary: Output[Vocabulary],
    size: int | None = None,
    min_count: int = 1,
) -> None:
    """Keeps the tokens that occur in training rows, and those that spell all other words.

    It runs before fine-tuning, so that teacher and student read the same tokens. The counts `kept_share_train` and
    `kept_share_validation` of the vocabulary hold the share of the rows' tokens that are kept; all others are split
    into smaller ones.

    `size` is the most tokens; without it, those are kept that occur `min_count` times in training rows.

    Raises InputError if the size has no room for the characters, or the task needs tokens that are not kept.
    """
    from keras_bert.compress.vocabulary import reduce_vocabulary
    from keras_bert.tokenizers.fitting import choose_vocabulary

    report_progress(0, 3, "counting tokens")
    task = read_model(pretrained)
    counts = {split: count_tokens(examples, split, task.tokenizer) for split in ("train", "validation")}
    with table_errors("fitted_vocabulary"):
        kept = choose_vocabulary(task.tokenizer, counts["train"], size=size, min_count=min_count)
    report_progress(1, 3, f"keeping {len(kept)} of {task.tokenizer.vocabulary_size} tokens")
    with input_errors("fitted_vocabulary must be left out for this checkpoint: "):
        smaller = reduce_vocabulary(task, kept.tolist())
    report_progress(2, 3, "writing")
    smaller.save(model.path)
    smaller.tokenizer.save(vocabulary.path)
    model.counts = {"parameters": smaller.model.count_params()}
    shares = {f"kept_share_{split}": round(float(n[kept].sum() / max(1, n.sum())), 4) for split, n in counts.items()}
    vocabulary.counts = {"entries": len(kept), **shares}
