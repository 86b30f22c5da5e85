"""Distillation before any task: a student learns on text how a pre-trained encoder reads it."""

from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.text_examples import TextExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.training.importance import by_states
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows, training_rows
from components.training.students import STARTING_BATCHES, make_student
from keras_bert.options.imitation import StateImitation
from keras_bert.options.student import Student
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def distill_start(
    start: Input[Model],
    texts: Input[TextExamples],
    student: Output[Model],
    shape: Student,
    imitation: StateImitation,
    training: Training = Training(epochs=1.0, learning_rate=5e-4),
) -> None:
    """Trains a student of an encoder that has no task yet (Jiao et al. 2020, section 3.2; Wang et al. 2020).

    A student as wide as the encoder starts from its layers, and where it has fewer heads or a narrower feed-forward
    layer from the parts of them that move the final states of the first texts most, see `RandomProbes`; another one
    from random weights. The artifact's count `layers_from_teacher` says which.

    Args:
        start: what fine-tuning begins with; its heads are not looked at.
        texts: rows in its pieces.
        student: the smaller encoder, without a head or a pooler; as a task it gives the mean of the final states.
        shape: how it differs.
        imitation: weights of the losses.
        training: how long and how to train.

    Raises:
        InputError: the encoder has no such layers, the shape is none, or what is to be imitated does not go with the
            models.
    """
    from keras_bert.compress.imitation import StatesObjective
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        master = _headless(read_model(start), texts)
        pupil, copied = make_student(
            master, shape, training_rows(texts, training).after(0, stop=STARTING_BATCHES), by_states
        )
        try:
            objective = StatesObjective(pupil.network(), master.network(), imitation)
        except ValueError as error:
            raise InputError(f"general_distillation.{str(error).partition('.')[2]}") from None
        history = train_on_rows(objective.joint, objective, texts, training)
    write_model(student, pupil, history, training.precision)
    student.counts["layers_from_teacher"] = copied


def _headless(task: "Task", texts: TextExamples) -> "Task":
    """The encoder of a task, as long as the rows."""
    from keras_bert.data.records import read_features
    from keras_bert.tasks.embedding import Embedding

    return Embedding.build(task.encoder, task.tokenizer, max_length=read_features(texts.path)["max_length"])
