"""What sharing an encoder costs a task: its file beside that of a model of the task alone."""

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, TaskExamples
from components.dsl.component import Input, Output, component
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.candidates import SHIPPED, find_candidates, measure_size, read_timed_rows, timing_work
from components.scoring.model_card import format_score
from components.scoring.scorer import ModelScorer
from components.scoring.significance import compare_models


@component(
    libraries=(
        *("ai-edge-litert", "keras", "onnxruntime", "scikit-learn"),
        *("scipy", "tensorflow", "tensorflow-text", "tokenizers"),
    ),
    kind="measurement",
)
def measure_single(
    examples: Input[TaskExamples],
    edges: Input[list[EdgeModel]],
    shared: Input[EdgeModel],
    rows: Output[FurtherModels],
    part: str,
    metric: str = "",
    seeds: int = 1,
) -> None:
    """The file of a model of one task alone as a row of the task's table, and what sharing an encoder costs.

    `shared` has the task as its `part`; both files answer the test rows. Of several `seeds` of the job they are those
    of the first, which the row and the verdict name.
    """
    alone, together = find_candidates([], [], edges), find_candidates([], [], [shared], part)
    name = next(name for name in SHIPPED if name in alone)
    test = read_rows(examples, "test")
    scorer = ModelScorer(examples.features(), 2 * len(test) + timing_work(len(test)))
    (single,), (joint,) = (scorer.score_seeds(name, files[name], test) for files in (alone, together))
    scorer.report(f"timing {name}", timing_work(len(test)))
    megabytes, milliseconds = measure_size(alone[name][0], read_timed_rows(examples))
    row = MeasuredModel(SeedScores.table([single.scores.metrics]), megabytes, milliseconds)
    metric = choose_metric(metric, scorer.scoring, scorer.labels)
    answers = [joint.answers], [single.answers]
    difference = compare_models(scorer.scoring, test, *answers, scorer.labels, metric)
    scores = [format_score(SeedScores.of([model.scores.metrics[metric]]), metric) for model in (joint, single)]
    of_seed, of_both = (", seed 0", ", both of seed 0") if seeds > 1 else ("", "")
    verdict = f"{name} {metric} {scores[0]} beside {scores[1]} of a model of this task alone{of_both}: {difference}"
    rows.write(FurtherRows({f"{name}, of this task alone{of_seed}": row}, [(True, verdict)]))
