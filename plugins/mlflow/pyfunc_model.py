"""A pushed file as an MLflow model: this script is copied beside the file and run where the model is loaded."""

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
        """A row for each text, with the task's `answer_columns`."""
        texts, *seconds = (model_input[name].astype(str).tolist() for name in model_input.columns[:2])
        names = self._task.answer_columns(paired=bool(seconds))
        return pd.DataFrame(list(self._task.answer_values(texts, *seconds)), columns=list(names))


mlflow.models.set_model(PushedModel())
