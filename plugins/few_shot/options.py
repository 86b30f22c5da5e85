"""The settings of fine-tuning on few rows."""

from typing import Annotated

import pydantic

from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class FewShot:
    """Settings of fine-tuning on few rows, known as SetFit (Tunstall et al. 2022, section 3).

    The encoder learns from pairs of rows: the target of the cosine is 1 for equal labels and 0 for different labels.
    Then the encoder is frozen, and a logistic regression on its vectors becomes the head.

    Attributes:
        pairs: number of pairs with the same label that each training row starts, and as many with another label
            (`num_iterations` in the released code), 0 to 1000. With 0 the encoder does not learn, and the head is
            fitted to the vectors of the initial model.
        l2: L2 penalty of the head, above 0: the loss is the sum over rows plus l2 / 2 times the sum of squared weights
            (1 / C of scikit-learn's `LogisticRegression`).
    """

    pairs: Annotated[int, pydantic.Field(ge=0, le=1000)] = 20
    l2: pydantic.PositiveFloat = 1.0
