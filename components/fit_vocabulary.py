"""Model, Vocabulary and TaskExamples -> both without the pieces that the examples do not need."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.artifacts.vocabulary import Vocabulary
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import read_model
from components.training.vocabulary import count_examples


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"))
def fit_vocabulary(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    vocabulary: Output[Vocabulary],
    size: int | None = None,
    min_count: int = 1,
) -> None:
    """Keeps the pieces that stand in training rows, and those that spell all other words.

    It comes before fine-tuning, so that teacher and student read the same pieces. The counts `kept_share_train` and
    `kept_share_validation` of the vocabulary say which share of the rows' pieces stay; what is lost is cut into
    smaller ones.

    Args:
        pretrained: the model to start from.
        examples: rows of any task in its vocabulary; only training and validation are looked at.
        model: the same with fewer rows in its tables.
        vocabulary: the pieces that stay.
        size: the most pieces, see `choose_pieces`.
        min_count: how often a piece must stand in training rows where there is no size.

    Raises:
        InputError: the size has no room for the characters.
    """
    from keras_bert.compress.vocabulary import with_pieces
    from keras_bert.tokenizers.fitting import choose_pieces

    report_progress(0, 3, "counting pieces")
    task = read_model(pretrained)
    pieces = task.tokenizer.vocabulary_size
    counts = {split: count_examples(examples, split, task.tokenizer) for split in ("train", "validation")}
    try:
        kept = choose_pieces(task.tokenizer, counts["train"], size=size, min_count=min_count)
    except ValueError as error:
        raise InputError(f"fitted_vocabulary.{str(error).partition('.')[2]}") from None
    report_progress(1, 3, f"keeping {len(kept)} of {pieces} pieces")
    smaller = with_pieces(task, kept.tolist())
    report_progress(2, 3, "writing")
    smaller.save(model.path)
    smaller.tokenizer.save(vocabulary.path)
    model.counts = {"parameters": smaller.model.count_params()}
    shares = {f"kept_share_{split}": round(float(n[kept].sum() / max(1, n.sum())), 4) for split, n in counts.items()}
    vocabulary.counts = {"pieces": len(kept), **shares}
