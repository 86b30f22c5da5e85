"""What each stage between a teacher and the shipped file loses, and what may be changed to lose less."""

from collections.abc import Callable, Mapping, Sequence

from components.artifacts.evaluation import MeasuredModel, SeedScores
from components.scoring.blessing import STUDENT, loss_metrics, teacher_of
from components.scoring.significance import PairedDifference

# The largest loss that is not reported. Deciding metrics are shares or correlations. Errors of a regression, which are
# in the unit of the labels, are judged by R2: a point is 1 % of the variance of the labels.
_POINT = 0.01 + 1e-9
# Files that hold the weights of the quantized file as float32.
_FLOAT_FILES = ("tflite float32", "onnx float32")

# Two models of the table and a metric -> the difference of the first from the second.
Compare = Callable[[str, str, str], PairedDifference]


def describe_stage_losses(
    rows: Mapping[str, MeasuredModel], metric: str, shipped: str, changes: Mapping[str, Sequence[str]], compare: Compare
) -> list[str]:
    """A sentence for each stage that loses: its figures, and the changes of the job by which it may lose less.

    A loss counts if it is more than a point; if it is significant on the test rows, which both models answer (see
    `PairedDifference`); and if it is larger than its standard deviation over the seeds, where there are several: in a
    normal distribution a further seed then loses with a probability of at least 0.84. The probability that Bouthillier
    et al. 2021 ask for is 0.75. Stages that show no loss alone are judged together.

    The table has no model between pruning and quantization. A float32 file with the quantized weights tells weights and
    activations apart. `changes` names the stages of the job by their tables of the settings.
    """
    teacher = teacher_of(rows)
    source = STUDENT if STUDENT in rows else teacher

    def describe(stages: Sequence[str], before: str, after: str, tables: Sequence[str]) -> list[str]:
        is_measured = before != after and {before, after} <= rows.keys()
        for name in loss_metrics(rows[after].metrics, metric) if is_measured else ():
            difference = compare(after, before, name)
            low, high = (rows[model].metrics[name] for model in (after, before))
            # The teachers of all seeds may have one student.
            spread = SeedScores.of([one - other for one, other in zip(high.seeds, low.seeds, strict=False)]).sd or 0.0
            if difference.is_loss_beyond(0.0) and -difference.difference > max(_POINT, spread):
                leads, share = describe_lost_share(rows, name, -difference.difference)
                ways = ", or ".join(change for table in tables for change in changes[table] if leads)
                figures = f"{after} {100 * low.mean:.2f} is below {before} {100 * high.mean:.2f} ({difference})"
                loss = f"{' and '.join(stages)} lost {name}: {figures}"
                return ["; ".join(filter(None, (loss, share, ways and f"to lose less, {ways}")))]
        return []

    tables = [table for table in changes if table != "student"]
    losses, losses_of_file = describe(["distillation"], teacher, STUDENT, ["student"]), list[str]()
    file = next((name for name in _FLOAT_FILES if name in rows), shipped)
    if file != shipped and "quantization" in tables:
        losses_of_file = describe([*tables[:-1], "the quantization of weights"], source, file, tables)
        losses_of_file += describe(["the quantization of activations"], file, shipped, tables[-1:])
    losses += losses_of_file or describe(tables or ["the export"], source, shipped, tables)
    return losses or describe(["distillation", *tables], teacher, shipped, list(changes))


def describe_lost_share(rows: Mapping[str, MeasuredModel], metric: str, loss: float) -> tuple[bool, str]:
    """Whether the teacher is better than every baseline, and a clause on the share of its lead that a loss is.

    True and an empty clause if there is no teacher, no baseline or no loss.
    """
    baselines = {row.metrics[metric].mean: name for name, row in rows.items() if row.baseline or row.trivial}
    teacher = rows.get(teacher_of(rows))
    if teacher is None or not baselines or loss <= 0:
        return True, ""
    best = max(baselines)
    lead, name = teacher.metrics[metric].mean - best, baselines[best]
    if lead <= 0:
        return False, f"improve the teacher first, which adds nothing over {100 * best:.2f} of the {name}"
    share = f"{100 * min(loss / lead, 1.0):.0f} % of the {100 * lead:.2f} points that the teacher adds over the {name}"
    return True, f"the loss is {share}"
