"""The steps that find wrong labels among the training rows of a job."""

from components.artifacts.data import TaskExamples
from components.artifacts.label_errors import Folds, HeldOutProbabilities, LabelErrors
from components.artifacts.models import Model
from components.assign_folds import assign_folds
from components.dsl.component import Handle
from components.find_label_errors import find_label_errors
from components.leave_out_fold import leave_out_fold
from components.score_held_out import score_held_out
from pipeline.chains import Start, append_name, wire_fine_tuning
from pipeline.settings.schema import Settings


def wire_label_errors(settings: Settings, start: Start, rows: Handle[TaskExamples]) -> Handle[LabelErrors]:
    """Wires the search for wrong labels: a fine-tuning for each fold, as that of the first seed's teacher.

    Args:
        settings: a job with a table `label_errors`.
        start: the inputs of fine-tuning.
        rows: the examples.
    """
    search, source = settings.label_errors, settings.examples
    assert search is not None
    assert source is not None
    near = source.near_overlap != "off"
    assigned = assign_folds(examples=rows, count=search.folds, seed=search.seed, near=near).output(Folds)
    models = []
    for fold in range(search.folds):
        node = append_name(leave_out_fold(examples=rows, folds=assigned, fold=fold), str(fold))
        # The numbers alone are those of seeds.
        name = f"fold-{fold}"
        trained = append_name(wire_fine_tuning(settings, start, node.output(TaskExamples), 0, name), name)
        models.append(trained.output(Model))
    scored = score_held_out(models=models, examples=rows, folds=assigned)
    node = find_label_errors(
        examples=rows, probabilities=scored.output(HeldOutProbabilities), source=source, search=search
    )
    return node.output(LabelErrors)
