"""Sends a run to MLflow: its settings, metrics, page, and the pushed model as a `pyfunc`."""

import contextlib
import importlib.metadata
import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from components.dsl.errors import InputError, install_command
from keras_bert.core.folders import ANSWERING_FILES
from pipeline.orchestrator.records import Run
from pipeline.orchestrator.store import Store
from pipeline.report.page import write_page
from pipeline.report.record import read_record
from pipeline.tracking.content import MetricPoint, RunSummary, summarize_run

T = TypeVar("T")

_DISTRIBUTION = "keras-bert-edge"
# The tag that identifies a run.
_TAG = "keras_bert_edge.run"
# Limits of a request (MLflow's REST API, runs/log-batch) and of the length of a value.
_MOST_PARAMETERS, _MOST_METRICS, _LONGEST = 100, 1000, 6000
_STATES = {"done": "FINISHED", "partial": "FINISHED", "refused": "FAILED", "failed": "FAILED", "interrupted": "KILLED"}
_SCRIPT = Path(__file__).with_name("pyfunc_model.py")


class Sent(NamedTuple):
    """The id of a run in MLflow, and whether it was there before."""

    id: str
    existed: bool


def send(root: Path, number: int | None, uri: str) -> Sent:
    """Sends a run to an MLflow store; a run that is already there stays as it is.

    Args:
        root: the root of the run.
        number: the number of the run; None for the newest one.
        uri: the address of the store, such as `http://localhost:5000` or `sqlite:///mlflow.db`.

    Raises:
        InputError: MLflow is not installed, the store cannot be reached, or there is no such run.
    """
    place = str(root.absolute())
    if "'" in place and '"' in place:
        raise InputError(f"--root must not have both quotes in its path to be sent to MLflow, got {place}")
    try:
        import mlflow
    except ImportError:
        raise InputError(f"--mlflow needs MLflow, which is not installed: {install_command('mlflow')}") from None
    record = read_record(root, number)
    with contextlib.closing(Store(root, create=False)) as store:
        summary = summarize_run(record, store)
    if record.run.state == "running":
        raise InputError(f"RUN must have ended to be sent to MLflow, got {record.run.id}, which is running")
    name = f"{place}#{record.run.id}"
    try:
        client = mlflow.MlflowClient(tracking_uri=uri)
        experiment = _find_experiment(client, record.run.pipeline)
        # MLflow's filters know both quotes, and no way to escape one.
        quote = '"' if "'" in name else "'"
        runs = client.search_runs([experiment], filter_string=f"tags.`{_TAG}` = {quote}{name}{quote}")
        if runs:
            return Sent(runs[0].info.run_id, existed=True)
        return Sent(_write(mlflow, client, uri, experiment, name, record.run, summary, root), existed=False)
    except mlflow.exceptions.MlflowException as error:
        reason = " ".join(str(error).split())
        raise InputError(f"--mlflow must be a store that can be written to, got {uri}: {reason}") from None


def _find_experiment(client: Any, pipeline: str) -> str:
    experiment = client.get_experiment_by_name(pipeline)
    return str(experiment.experiment_id if experiment else client.create_experiment(pipeline))


def _write(
    mlflow: Any, client: Any, uri: str, experiment: str, name: str, run: Run, summary: RunSummary, root: Path
) -> str:
    """Writes the whole run; deletes it again if that fails."""
    ended = run.ended or run.started
    title = f"{run.pipeline} {run.id}"
    made = client.create_run(experiment, start_time=_milliseconds(run.started), run_name=title).info.run_id
    try:
        for some in _batches(_parameters(mlflow, summary), _MOST_PARAMETERS):
            client.log_batch(made, params=some)
        for some in _batches(_metrics(mlflow, summary.points, ended), _MOST_METRICS):
            client.log_batch(made, metrics=some)
        with tempfile.TemporaryDirectory() as folder:
            client.log_artifact(made, str(write_page(root, run.id, Path(folder) / "report.html")))
        if summary.folder is not None:
            _log_model(mlflow, uri, made, summary.folder)
        client.set_terminated(made, _STATES[run.state], _milliseconds(ended))
        # The tag comes last: an incomplete run without it counts as missing.
        client.set_tag(made, _TAG, name)
    except BaseException:
        client.delete_run(made)
        raise
    return str(made)


def _log_model(mlflow: Any, uri: str, run: str, folder: Path) -> None:
    """Logs the shipped file as a model that takes a table of texts."""
    file = next(folder / name for name in ANSWERING_FILES if (folder / name).is_file())
    version = importlib.metadata.version(_DISTRIBUTION)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    try:
        with mlflow.start_run(run_id=run):
            mlflow.pyfunc.log_model(
                name="model",
                python_model=str(_SCRIPT),
                artifacts={"file": str(file)},
                pip_requirements=[f"{_DISTRIBUTION}=={version}"],
            )
    finally:
        mlflow.set_tracking_uri(before)


def _parameters(mlflow: Any, summary: RunSummary) -> Iterator[Any]:
    for name, value in summary.parameters.items():
        yield mlflow.entities.Param(name, value[:_LONGEST])


def _metrics(mlflow: Any, points: Iterable[MetricPoint], ended: float) -> Iterator[Any]:
    for point in points:
        yield mlflow.entities.Metric(point.name, point.value, _milliseconds(ended), point.step)


def _batches(items: Iterable[T], most: int) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(itertools.islice(rest, most)):
        yield some


def _milliseconds(seconds: float) -> int:
    return int(1000 * seconds)
