"""Evaluation of the shipped files: the exported files themselves, on the test rows."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import (
    Blessing,
    Decision,
    Evaluation,
    FurtherModels,
    MeasuredModel,
    Metrics,
    SeedScores,
)
from components.artifacts.standard import EdgeModel, Model, RowOrigins, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.side_process import call_beside, can_call_beside
from components.examples.question_answering import describe_left_out
from components.examples.registry import read_origins, read_rows
from components.scoring.base import LabelLogits, choose_metric
from components.scoring.blessing import (
    COLUMN,
    FROZEN,
    PREVIOUS,
    STUDENT,
    TEACHER,
    UNTRAINED,
    Thresholds,
    decide,
    loss_metrics,
)
from components.scoring.calibration import calibrate, check_precision, confidences_of, measure, reliability_bins
from components.scoring.candidates import (
    SHIPPED,
    ScoredFile,
    find_candidates,
    measure_size,
    read_timed_rows,
    timing_work,
)
from components.scoring.causes import find_causes
from components.scoring.engines import EngineScore, engine_work, read_engines, score_engines
from components.scoring.records import count_records
from components.scoring.registry import TASK_SCORING
from components.scoring.row_vectors import VECTORS_FILE, encode_vectors
from components.scoring.scorer import ModelScorer, Scored, ScoredBaselines
from components.scoring.significance import PairedDifference, compare_models
from components.scoring.slices import column_values, score_slices, slice_texts
from components.scoring.stage_losses import Compare, describe_lost_share, describe_stage_losses
from components.sources.pushed_version import PushedVersion
from components.training.model_folder import FROZEN_HEAD_FILE, read_model
from components.training.tuning import build_task, tune_task
from keras_bert.core.folders import MODEL_FILE

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@component(
    libraries=(
        *("ai-edge-litert", "keras", "onnx", "onnxruntime", "scikit-learn"),
        *("scipy", "tensorflow", "tensorflow-text", "tokenizers"),
    ),
    kind="measurement",
)
def evaluate(
    examples: Input[TaskExamples],
    teachers: Input[list[Model]],
    students: Input[list[Model]],
    edges: Input[list[EdgeModel]],
    evaluation: Output[Evaluation],
    blessing: Output[Blessing],
    further: Input[list[FurtherModels]] | None = None,
    origins: Input[RowOrigins] | None = None,
    checkpoint: Input[Model] | None = None,
    previous: PushedVersion | None = None,
    thresholds: Thresholds = Thresholds(),
    baselines: bool = True,
    changes: dict[str, list[str]] | None = None,
    part: str = "",
) -> None:
    """Scores every model on the test split, beside baselines, and decides whether the files may be pushed.

    Validation rows choose the seed whose files are pushed, or `FurtherRows.kept` of `further`, where a capability
    chooses for several tasks. Its scores on test rows are better than those of others only by chance, so the table has
    the mean over seeds. Validation rows also calibrate its labels: a temperature, and a threshold for a precision.

    Args:
        examples: the rows; no other step reads their test split, and this step reads it after its last decision.
        teachers: the fine-tuned models, one a seed; empty where students learn from answers in the examples.
        students: the float students before quantization, one a seed; empty if the teachers themselves are exported.
        edges: the exported files of each seed; empty if nothing is exported.
        evaluation: the table of models, and the worst answers of the shipped file.
        blessing: the decision and its reasons.
        further: rows that capabilities of the job add to the table.
        origins: keep the `thresholds.slice_columns` of test rows; None without such columns.
        checkpoint: the model that fine-tuning started from, to score as well: its own vectors, or a head that was
            fitted to them; None to leave it out.
        previous: the newest other version in the folder that is pushed to; it is scored on the same rows.
        thresholds: the scores and sizes that a model must reach to be pushed.
        baselines: whether to score methods without a language model, too.
        changes: the changes of the job by which each stage may lose less; None where losses are not described.
        part: the task of the examples inside of models of several tasks; empty for models of one.

    Raises:
        InputError: the task has no such metric, or a precision is required and the task has no labels; or an engine
            fails.
    """
    description = examples.features()
    candidates = find_candidates(teachers, students, edges, part)
    shipped = next(name for name in SHIPPED if name in candidates)
    # Only files are calibrated, and only if their answers are labels.
    calibrated = bool(edges) and TASK_SCORING[description["task"]].has_probabilities
    counts = description["rows"]
    starts = {} if checkpoint is None else _find_starts(checkpoint, teachers, examples, part)
    # Files and Keras models are scored at the same time, where there is room for two processes.
    largest = max(model.file(MODEL_FILE).stat().st_size for model in (*teachers, *students))
    is_beside = bool(edges) and can_call_beside(2 * (1e9 + 8 * largest))
    files = [name for name in candidates if name not in (TEACHER, STUDENT)]
    scored_here = sum(len(candidates[name]) for name in files) + calibrated + (previous is not None)
    scored_here += 0 if is_beside else baselines + len(starts) + len(teachers) + len(students)
    work = (len(candidates[shipped]) + calibrated) * counts["validation"] + scored_here * counts["test"]
    work += TASK_SCORING[description["task"]].has_variants * len(candidates[shipped]) * counts["test"]
    work += engine_work(len(read_engines(edges[0])) if edges else 0, min(thresholds.accelerator_rows, counts["test"]))
    scorer = ModelScorer(description, work + len(candidates) * timing_work(counts["test"]), part)
    metric = choose_metric(thresholds.metric, scorer.scoring, scorer.labels)
    check_precision(thresholds.min_precision, description["task"])
    train, validation = (read_rows(examples, split) for split in ("train", "validation"))

    def score_models() -> tuple[ScoredBaselines, dict[str, list[Scored]]]:
        rows = read_rows(examples, "test")
        rivals = scorer.score_baselines(train, validation, rows) if baselines else ScoredBaselines({}, {}, {})
        rivals.scored.update({name: scorer.score_seeds(name, [start], rows) for name, start in starts.items()})
        names = [name for name in (TEACHER, STUDENT) if name in candidates]
        return rivals, {name: scorer.score_seeds(name, candidates[name], rows) for name in names}

    # Until here, this process has not used TensorFlow.
    scored_models = call_beside(score_models) if is_beside else score_models
    scored = scorer.score_seeds(f"{shipped} on validation rows", candidates[shipped], validation)
    seed_metrics = [seed.scores.metrics for seed in scored]
    best_seed = max(range(len(scored)), key=lambda seed: seed_metrics[seed][metric])
    measured_further = [artifact.read() for artifact in further or ()]
    kept = next((rows.kept for rows in measured_further if rows.kept is not None), best_seed)
    file = candidates[shipped][kept]
    calibration: dict[str, Any] | None = None
    if calibrated:
        logits = scorer.read_logits("calibration", file, validation)
        calibration = calibrate(logits, scorer.classes, thresholds.min_precision)
    # Nothing is decided from here on.
    test = read_rows(examples, "test")
    test_logits = None if calibration is None else scorer.read_logits("calibration on test rows", file, test)
    if calibration is not None and test_logits is not None:
        calibration["test"] = measure(calibration, test_logits, scorer.classes)
    scores = {name: scorer.score_seeds(name, candidates[name], test) for name in files}
    rivals, scores_of_models = scored_models()
    scores |= scores_of_models
    models = dict(rivals.models)
    column, reason = scorer.score_column(test)
    if column:
        models[COLUMN] = MeasuredModel(_spread(column))
    for name in starts:
        models[name] = MeasuredModel(_spread(rivals.scored[name]), baseline=name in (FROZEN, UNTRAINED))
    timed_rows = read_timed_rows(examples)
    for name, seeds in candidates.items():
        scorer.report(f"timing {name}", timing_work(len(test)))
        models[name] = MeasuredModel(_spread(scores[name]), *measure_size(seeds[kept], timed_rows))
        if name == shipped:
            models |= scorer.score_variants(name, seeds, test, scores[name])
    engines = dict[str, EngineScore]()
    float_model = next((name for name in (STUDENT, TEACHER) if name in candidates and name != shipped), None)
    if thresholds.accelerator_rows and edges and float_model is not None and read_engines(edges[kept]):
        sides = ((shipped, file), (float_model, candidates[float_model][kept]))
        kept_metrics = loss_metrics(scores[shipped][kept].scores.metrics, metric)
        engines = score_engines(scorer, edges[kept], *sides, test[: thresholds.accelerator_rows], kept_metrics)
        models |= {name: engine.model for name, engine in engines.items()}
    previous_scores, not_compared = scorer.score_previous(previous, test)
    if previous_scores:
        models[PREVIOUS] = MeasuredModel(_spread(previous_scores))
    models |= {name: model for rows in measured_further for name, model in rows.models.items()}
    compare = _make_comparison(scorer, test, scores | {PREVIOUS: previous_scores, COLUMN: column} | rivals.scored)
    differences = _compare_with_references(compare, models, shipped, metric)
    losses = [] if changes is None else describe_stage_losses(models, metric, shipped, changes, compare)
    best = scores[shipped][kept]
    values = _read_slices(scorer, (teachers or students)[kept], test, origins, thresholds)
    slices = score_slices(scorer.scoring, test, best.answers, scorer.labels, metric, values)

    def judge(models: Mapping[str, MeasuredModel]) -> Decision:
        decision = decide(
            models,
            metric,
            shipped,
            thresholds,
            calibration,
            files=files,
            differences=differences,
            slices=slices,
            engines=engines,
            further=[verdict for rows in measured_further for verdict in rows.verdicts],
        )
        unlearnt = describe_left_out(description.get("left_out", {}), counts, description["max_length"])
        return decision._replace(warnings=[*decision.warnings, *losses, *unlearnt])

    metrics = Metrics(
        task=description["task"],
        metric=metric,
        rows=description["rows"],
        overlap=description["overlap"],
        near_overlap=description["near_overlap"],
        labels=scorer.labels,
        shipped=shipped,
        kept=kept,
        models=models,
        validation=SeedScores.table(seed_metrics),
        report=best.scores.report,
        confusion=best.scores.confusion,
        calibration=calibration,
        warnings=judge(models).warnings,
        left_out={**rivals.left_out, **({COLUMN: reason} if reason else {})},
        slices=slices,
    )
    metrics = count_records(metrics, {name: candidates[name][kept].file for name in files})
    decision = judge(metrics.models)
    if not_compared:
        decision = decision._replace(reasons=[*decision.reasons, not_compared])
    if not decision.blessed:
        of_rules = {rule: cause for rows in measured_further for rule, cause in rows.causes.items()}
        causes = [*dict.fromkeys(of_rules.values())]
        # A stage or a training is no cause of what has another one.
        if any(reason.startswith("NO: ") and reason[4:] not in of_rules for reason in decision.reasons):
            is_by_stages = bool(losses) and describe_lost_share(models, metric, loss=1.0)[0]
            of_training = [] if is_by_stages else find_causes(examples, (teachers or students)[kept])
            causes = [*losses, *of_training, *causes]
        decision = decision._replace(causes=causes)
    if edges and not part:  # the heads of several tasks read different vectors
        evaluation.write_json(VECTORS_FILE, encode_vectors(file.open(), file.file, validation))
    evaluation.write(metrics, _describe_answers(scorer, test, best.answers, calibration, test_logits))
    blessing.write(decision)
    evaluation.counts = {"test_rows": len(test), metric: metrics.score.mean}
    blessing.counts = {"blessed": decision.blessed}


def _find_starts(
    checkpoint: Model, teachers: Sequence[Model], examples: TaskExamples, part: str
) -> dict[str, ScoredFile]:
    """The checkpoint without fine-tuning: with a fitted head, or a model of vectors; and what plug-ins make of it."""
    from keras_bert.core.plugins import find_plugins
    from keras_bert.tasks.base import take_part
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.registry import TASKS
    from keras_bert.training.new_head import attach_fitted_head

    def open_vectors() -> "Task":
        """The checkpoint's own similarity function, and the examples' maximum length."""
        start = read_model(checkpoint)
        task = build_task(start, description, similarity_function=getattr(start, "similarity_function", "cosine"))
        tune_task(task, examples)
        return task

    def open_frozen() -> "Task":
        task = attach_fitted_head(take_part(read_model(teachers[0]), part), read_model(checkpoint).encoder, heads[0])
        tune_task(task, examples)  # thresholds of the teacher suit other probabilities
        return task

    description, starts = examples.features(), dict[str, Callable[[], "Task"]]()
    # The head of a part has the name of its task in front.
    files = [teacher.file(f"{start}{FROZEN_HEAD_FILE}") for teacher in teachers[:1] for start in (part, "")]
    if heads := [file for file in files if file.exists()]:
        starts[FROZEN] = open_frozen
    elif issubclass(TASKS[description["task"]], Embedding):
        starts[UNTRAINED] = open_vectors
    for plugin in find_plugins("baselines").values():
        starts |= plugin.load()(checkpoint, examples)
    return {name: ScoredFile(open_task, checkpoint.file(MODEL_FILE)) for name, open_task in starts.items()}


def _spread(scored: Sequence[Scored]) -> dict[str, SeedScores]:
    return SeedScores.table([seed.scores.metrics for seed in scored])


def _read_slices(
    scorer: ModelScorer, model: Model, test: Sequence[Any], origins: RowOrigins | None, thresholds: Thresholds
) -> dict[str, list[str]]:
    """Kind of slice -> the value of each test row."""
    from keras_bert.tokenizers.loading import load_tokenizer

    values = slice_texts(load_tokenizer(model.path), *scorer.scoring.texts(test))
    if columns := thresholds.slice_columns:
        if origins is None:
            raise InputError(f"evaluate.origins must be given for slice_columns, got None beside {columns[0]!r}")
        values |= column_values(columns, read_origins(origins, "test"))
    return values


def _make_comparison(scorer: ModelScorer, rows: Sequence[Any], scores: Mapping[str, Sequence[Scored]]) -> Compare:
    answers = {name: [seed.answers for seed in scored] for name, scored in scores.items()}
    return functools.cache(
        lambda one, other, name: compare_models(scorer.scoring, rows, answers[one], answers[other], scorer.labels, name)
    )


def _compare_with_references(
    compare: Compare, models: Mapping[str, MeasuredModel], shipped: str, metric: str
) -> dict[str, dict[str, PairedDifference]]:
    """The differences of the shipped file from the models that it is made of, the previous version and baselines."""
    names = loss_metrics(models[shipped].metrics, metric)
    compared = {name: names for name in (STUDENT, TEACHER, PREVIOUS) if name in models and name != shipped}
    compared |= {name: [metric] for name, model in models.items() if model.baseline}
    return {
        reference: {name: compare(shipped, reference, name) for name in chosen}
        for reference, chosen in compared.items()
    }


def _describe_answers(
    scorer: ModelScorer,
    rows: Sequence[Any],
    answers: Sequence[Any],
    calibration: Mapping[str, Any] | None,
    logits: LabelLogits | None,
) -> dict[str, Any]:
    """The worst answers to the test rows, see `Mistakes`, and their `reliability_bins`; None without a calibration."""
    confidences, bins = None, None
    if calibration is not None and logits is not None:
        bins = reliability_bins(calibration, logits, scorer.classes)
        # A row of the logits may be a word, or a label of a text; a sentence or a text has no confidence then.
        confidences = confidences_of(calibration, logits, scorer.classes) if len(logits.truth) == len(rows) else None
    return {"mistakes": scorer.scoring.mistakes(rows, answers, confidences).as_dict(), "reliability": bins}
