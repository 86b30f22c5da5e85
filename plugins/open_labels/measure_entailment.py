"""The scores of a model of natural language inference, which answers rows by the names of labels."""

import random
from collections.abc import Sequence

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.training.model_folder import read_model
from plugins.open_labels.label_table import name_text
from plugins.open_labels.rows import descriptions_of, examples_of
from plugins.open_labels.scoring import COUNTS, OpenAnswer, OpenLabelsScoring

# The place of the name of a label in a hypothesis.
PLACE = "{}"


def find_entailment(labels: Sequence[str]) -> int:
    """The place of the label of entailment; raises InputError if there is none."""
    places = [place for place, label in enumerate(labels) if str(label).lower().startswith("entail")]
    if len(places) != 1:
        raise InputError(
            "entailment.path must be a classifier of pairs with one label that begins with 'entail', such as one that "
            f"learnt MNLI, got the labels {list(labels)}"
        )
    return places[0]


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="measurement")
def measure_entailment(
    inference: Input[Model],
    examples: Input[TaskExamples],
    further: Output[FurtherModels],
    hypothesis: str,
    rows: int,
) -> None:
    """Scores the label whose hypothesis a text entails most (Yin et al. 2019, arXiv 1909.00161), on some test rows.

    Raises:
        InputError: the model is no classifier with a label of entailment.
    """
    import numpy as np

    task, description = read_model(inference), examples.features()
    entailed = find_entailment(task.labels)
    tested = read_rows(examples, "test")
    descriptions = descriptions_of([*read_rows(examples, "train"), *tested])
    trained = description["settings"]["labels"]
    labels = [*trained, *examples_of(tested)]
    order = random.Random(0).sample(range(len(tested)), len(tested))
    # A row of a trained and one of an added label define all metrics.
    first = {bool(tested[place].examples): place for place in reversed(order)}
    chosen = [tested[place] for place in dict.fromkeys([*first.values(), *order])][:rows]
    report_progress(0, len(labels))
    scores = np.zeros((len(chosen), len(labels)))
    texts = [row.text for row in chosen]
    for place, label in enumerate(labels):
        second = hypothesis.replace(PLACE, name_text(label, descriptions.get(label, "")))
        logits = np.stack(list(task.outputs(texts, [second] * len(texts))))
        scores[:, place] = logits[:, entailed] - np.logaddexp.reduce(np.delete(logits, entailed, axis=1), axis=1)
        report_progress(place + 1, len(labels))
    among_trained = scores[:, : len(trained)]
    answers = [
        OpenAnswer(trained[before], float(score), (labels[best],) * len(COUNTS))
        for before, score, best in zip(
            among_trained.argmax(axis=1), among_trained.max(axis=1), scores.argmax(axis=1), strict=True
        )
    ]
    metrics = OpenLabelsScoring().score(chosen, answers, trained).metrics
    name = "natural language inference" + (f", {len(chosen)} rows" if len(chosen) < len(tested) else "")
    further.write(FurtherRows({name: MeasuredModel(SeedScores.table([metrics]))}))
