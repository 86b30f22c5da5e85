"""The tables of a job that a training step reads as a whole: a training, and the records of what it is for."""

from typing import Annotated, Any, Literal

import pydantic

from keras_bert.core.validation import validated_dataclass
from keras_bert.options.compression import Distillation, Imitation, Pruning
from keras_bert.options.fine_tuning import Selection, StartHead
from keras_bert.options.quantization import Quantization
from keras_bert.options.training import Precision, Training

# Tags of the kinds of class weights. Pydantic adds them to the location of an error; no label equals a tag.
_NAMED, _TABLE = "<named>", "<table>"


def _choose_weights(value: Any) -> str:
    return _TABLE if isinstance(value, dict) else _NAMED


ClassWeights = Annotated[
    Annotated[Literal["none", "balanced"], pydantic.Tag(_NAMED)] | Annotated[dict[str, float], pydantic.Tag(_TABLE)],
    pydantic.Discriminator(_choose_weights),
]


@validated_dataclass
class FineTuningSettings(Training, Selection):
    """Settings of fine-tuning, validation and class weights.

    Attributes:
        class_weights: weights of labels in the loss: `none`, `balanced` by label counts, or a table of weights by
            label; other labels have weight 1.
        start_head: how a new head starts. `fitted`: at its optimum on the vectors of the encoder before the training, a
            logistic or a ridge regression on up to 4,096 rows; `random`; `auto`: fitted where this saves at least 15 %
            of the loss of constant answers on rows left out, else random.
    """

    precision: Precision = "auto"
    class_weights: ClassWeights = "none"
    start_head: StartHead = "auto"


@validated_dataclass
class TrainingWithTeacher(Training, Distillation):
    """Settings of a training on the outputs of a teacher."""

    learning_rate: pydantic.PositiveFloat = 1e-4
    precision: Precision = "auto"


@validated_dataclass
class DistillationSettings(TrainingWithTeacher, Imitation):
    """Settings of the distillation of a teacher into a student.

    Attributes:
        teachers: the teachers of a student: its `own`, or those of all `seeds`, whose mean probabilities one student
            learns.
    """

    teachers: Literal["own", "seeds"] = "own"


@validated_dataclass
class PruningSettings(TrainingWithTeacher, Pruning):
    """Settings of pruning, and of the training of the remaining weights."""

    epochs: pydantic.PositiveFloat = 1.0
    learning_rate: pydantic.PositiveFloat = 5e-5


@validated_dataclass
class QuantizationSettings(TrainingWithTeacher, Quantization):
    """Settings of quantization and of quantization-aware training, in which the float model is the teacher.

    Attributes:
        post_training: whether the model is quantized without training; keys of the training must be left out.
    """

    epochs: pydantic.PositiveFloat = 1.0
    learning_rate: pydantic.PositiveFloat = 2e-5
    post_training: bool = False
