"""Sends a run to MLflow: its settings, metrics, page, and the pushed model as a `pyfunc`."""

import contextlib
import importlib.metadata
import json
import os
import posixpath
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.dsl.errors import InputError, install_command
from keras_bert.core.folders import ANSWERING_FILES, SAVED_MODEL_FILE
from keras_bert.export.files import copy_model
from pipeline.orchestrator.changes import flatten
from pipeline.orchestrator.history import RunHistory
from pipeline.orchestrator.records import Run
from pipeline.orchestrator.store import Store
from pipeline.provenance.difference import figures_of
from pipeline.report.page import write_page
from pipeline.report.record import RunRecord, read_record
from pipeline.report.trainings import read_trainings


class MetricPoint(NamedTuple):
    """A metric at a step of a training, or of a finished model (step 0)."""

    name: str
    value: float
    step: int


class RunSummary(NamedTuple):
    """The content of a run for a tracking store; the folder is the pushed version, if there is one."""

    parameters: dict[str, str]
    points: list[MetricPoint]
    folder: Path | None


def summarize_run(record: RunRecord, history: RunHistory) -> RunSummary:
    """Summarizes a run."""
    settings = flatten(history.settings(record.run.id) or {})
    names = make_names(settings)
    parameters = {
        names[name]: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()
    }
    pushed = [Pushed(folder).location() for _, folder in record.outputs(Pushed.__name__)]
    folder = next((place for place in pushed if place.is_dir()), None)
    points = []
    for training in read_trainings(record):
        for panel, line in ((panel, line) for panel, lines in training.panels.items() for line in lines):
            parts = (training.name, "validation" if line.is_held_out else "", panel, line.name)
            name = "/".join(filter(None, parts))
            points += [MetricPoint(name, float(value), int(step)) for step, value in line.points]
    for step, evaluation in record.outputs(Evaluation.__name__):
        for model_name, model in Evaluation(evaluation).read().models.items():
            # Each task of a job of several is evaluated, by a step such as `evaluate-mood`.
            name = "/".join(filter(None, (step.name.partition("-")[2], model_name)))
            points += [MetricPoint(f"{name}/{figure}", value, 0) for figure, value in figures_of(model).items()]
            spreads = {metric: score.sd for metric, score in model.metrics.items() if score.sd is not None}
            points += [MetricPoint(f"{name}/{metric} sd", sd, 0) for metric, sd in spreads.items()]
    names = make_names(point.name for point in points)
    return RunSummary(parameters, [point._replace(name=names[point.name]) for point in points], folder)


def make_names(names: Iterable[str]) -> dict[str, str]:
    """Name -> the name that MLflow takes, with `_` for other characters; different names stay different."""
    taken: dict[str, str] = {}
    for name in dict.fromkeys(names):
        made = re.sub(r"[^\w ./-]", "_", name)
        # Slashes part the names of charts, and none may be empty.
        made = made if posixpath.normpath(made) == made else made.replace("/", "_")
        while made in taken.values():
            made += "_"
        taken[name] = made
    return taken


_DISTRIBUTION = "keras-bert-edge"
# The tag that identifies a run.
_TAG = "keras_bert_edge.run"
# Limits of a request (MLflow's REST API, runs/log-batch) and of the length of a value.
_MOST_PARAMETERS, _MOST_METRICS, _LONGEST = 100, 1000, 6000
_STATES = {"done": "FINISHED", "partial": "FINISHED", "refused": "FAILED", "failed": "FAILED", "interrupted": "KILLED"}
_SCRIPT = Path(__file__).with_name("pyfunc_model.py")


def send(root: Path, number: int | None, uri: str) -> str:
    """Sends a run to an MLflow store, where a run that is already there stays as it is; returns what was done."""
    place = str(root.absolute())
    if "'" in place and '"' in place:
        raise InputError(f"--root must not have both quotes in its path to be sent to MLflow, got {place}")
    # MLflow reports its use to its makers unless this is set before its import; what the user has set stays.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import mlflow
    except ImportError:
        raise InputError(f"--track mlflow needs MLflow, which is not installed: {install_command('mlflow')}") from None
    record = read_record(root, number)
    with contextlib.closing(Store(root, create=False)) as store:
        summary = summarize_run(record, store)
    if record.run.state == "running":
        raise InputError(f"RUN must have ended to be sent to MLflow, got {record.run.id}, which is running")
    name = f"{place}#{record.run.id}"
    try:
        client = mlflow.MlflowClient(tracking_uri=uri)
        earlier = client.get_experiment_by_name(record.run.pipeline)
        experiment = str(earlier.experiment_id if earlier else client.create_experiment(record.run.pipeline))
        # MLflow's filters know both quotes, and no way to escape one.
        quote = '"' if "'" in name else "'"
        runs = client.search_runs([experiment], filter_string=f"tags.`{_TAG}` = {quote}{name}{quote}")
        if runs:
            return f"is there already, as run {runs[0].info.run_id}"
        return f"run {_write(mlflow, client, uri, experiment, name, record.run, summary, root)}"
    except mlflow.exceptions.MlflowException as error:
        reason = " ".join(str(error).split())
        raise InputError(f"--track mlflow must name a store that can be written to, got {uri}: {reason}") from None


def _write(
    mlflow: Any, client: Any, uri: str, experiment: str, name: str, run: Run, summary: RunSummary, root: Path
) -> str:
    """Writes the whole run; deletes it again if that fails."""
    ended = run.ended or run.started
    title = f"{run.pipeline} {run.id}"
    made = client.create_run(experiment, start_time=_milliseconds(run.started), run_name=title).info.run_id
    try:
        parameters = [mlflow.entities.Param(name, value[:_LONGEST]) for name, value in summary.parameters.items()]
        for start in range(0, len(parameters), _MOST_PARAMETERS):
            client.log_batch(made, params=parameters[start : start + _MOST_PARAMETERS])
        points, time = summary.points, _milliseconds(ended)
        metrics = [mlflow.entities.Metric(point.name, point.value, time, point.step) for point in points]
        for start in range(0, len(metrics), _MOST_METRICS):
            client.log_batch(made, metrics=metrics[start : start + _MOST_METRICS])
        with tempfile.TemporaryDirectory() as folder:
            client.log_artifact(made, str(write_page(root, run.id, Path(folder) / "report.html")))
        if summary.folder is not None:
            # The shipped file, as a model that takes a table of texts.
            paths = [summary.folder / name for name in ANSWERING_FILES]
            file = next(path for path in paths if path.is_file())
            version, before = importlib.metadata.version(_DISTRIBUTION), mlflow.get_tracking_uri()
            mlflow.set_tracking_uri(uri)
            try:
                with mlflow.start_run(run_id=made), tempfile.TemporaryDirectory() as folder:
                    copy = copy_model(file, Path(folder))
                    mlflow.pyfunc.log_model(
                        name="model",
                        python_model=str(_SCRIPT),
                        # Of a SavedModel, the folder.
                        artifacts={"file": str(copy.parent if copy.name == SAVED_MODEL_FILE else copy)},
                        pip_requirements=[f"{_DISTRIBUTION}=={version}"],
                    )
            finally:
                mlflow.set_tracking_uri(before)
        client.set_terminated(made, _STATES[run.state], _milliseconds(ended))
        # The tag comes last: an incomplete run without it counts as missing.
        client.set_tag(made, _TAG, name)
    except BaseException:
        client.delete_run(made)
        raise
    return str(made)


def _milliseconds(seconds: float) -> int:
    return int(1000 * seconds)
