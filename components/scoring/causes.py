"""Likely causes of a model that was refused, with figures from its run."""

import json
from collections.abc import Iterator

from components.artifacts.standard import Model, TaskExamples
from components.examples.row_schema import SCHEMA_FILE, RowSchema
from components.training.model_folder import FROZEN_HEAD_FILE, HISTORY_FILE

# The share by which the mean loss of the last quarter of a training may be below that of the quarter before. All limits
# are our choice: only models that were refused are looked at.
_STILL_FALLING = 0.1
_FEWEST_STEPS_A_LABEL = 10
# English has 1.2 tokens a word in an English vocabulary, German and Spanish about 2.
_MOST_TOKENS_A_WORD = 1.7
_MOST_LOSS_RATIO = 1.5


def find_causes(examples: TaskExamples, model: Model) -> list[str]:
    """Clauses with a figure and a way out each; `model` is the one that learnt from the rows, with its history."""
    from keras_bert.tokenizers.loading import load_eager_tokenizer

    description, file = examples.features(), model.file(HISTORY_FILE)
    schema = RowSchema.parse(examples.read_json(SCHEMA_FILE), SCHEMA_FILE)
    causes = schema.describe_truncation(description.get("truncated_share", {}).get("train", 0.0))
    history = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    # A fitted head has learnt all labels before the first step.
    new_labels = 0 if model.file(FROZEN_HEAD_FILE).is_file() else len(schema.labels)
    causes += _judge_training([entry for entry in history if "loss" in entry], new_labels)
    if schema.tokens_per_word > _MOST_TOKENS_A_WORD:
        words = f"{schema.tokens_per_word:.2f} tokens a word"
        causes.append(f"the vocabulary needs {words}; choose a checkpoint of the texts' language")
    entities = description["task"] == "token_classification" and any("-" in label for label in schema.labels)
    if entities and load_eager_tokenizer(model.path).lowercase:
        causes.append("the vocabulary is uncased and does not see the capitals of names; choose a cased checkpoint")
    return causes


def _judge_training(history: list[dict[str, float]], labels: int) -> Iterator[str]:
    losses, quarter = [entry["loss"] for entry in history], len(history) // 4
    if quarter:
        before, last = (sum(part) / quarter for part in (losses[-2 * quarter : -quarter], losses[-quarter:]))
        if last < (1 - _STILL_FALLING) * before:
            fall = f"from {before:.3g} to {last:.3g} in the last half of {history[-1]['step']:.0f} steps"
            yield f"the training loss still fell, {fall}; raise fine_tuning.epochs or learning_rate"
    if history and history[-1]["step"] < _FEWEST_STEPS_A_LABEL * labels:
        yield f"a head of {labels} labels had only {history[-1]['step']:.0f} steps; raise fine_tuning.epochs"
    validated = [(entry["validation_loss"], entry["loss"]) for entry in history if "validation_loss" in entry]
    if validated and validated[-1][0] > _MOST_LOSS_RATIO * validated[-1][1]:
        held_out, training = validated[-1]
        rest = f"the training loss {training:.3g}; add rows, or lower fine_tuning.epochs"
        yield f"the validation loss {held_out:.3g} is far above {rest}"
