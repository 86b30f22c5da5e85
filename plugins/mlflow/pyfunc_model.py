"""A pushed file as an MLflow model: this script is copied beside the file and run where the model is loaded."""

import dataclasses
from typing import Any

import mlflow
import pandas as pd

from keras_bert.export.bundle import load_exported


class PushedModel(mlflow.pyfunc.PythonModel):
    """Takes a table: texts in the first column, second texts of pairs (contexts of questions) in the second one."""

    def load_context(self, context: Any) -> None:
        """Opens the file."""
        self._task = load_exported(context.artifacts["file"])

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """A row a text: the fields of `predict` of the task, or its number, vector or entities as `answer`."""
        columns = [model_input[name].astype(str).tolist() for name in model_input.columns[:2]]
        answers = self._task.predict(*columns)
        if len(answers) and dataclasses.is_dataclass(answers[0]):
            return pd.DataFrame([dataclasses.asdict(answer) for answer in answers])
        return pd.DataFrame({"answer": list(answers)})


mlflow.models.set_model(PushedModel())
