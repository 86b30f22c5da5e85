"""The settings of fine-tuning on few rows."""

from typing import Annotated

import pydantic

from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class FewShot:
    """Settings of fine-tuning on few rows, known as SetFit (Tunstall et al. 2022, section 3).

    The encoder learns from pairs of rows: the cosine of their vectors is to be 1 for the same label and 0 for different
    ones. Then it is frozen, and a logistic regression on its vectors becomes the head.

    Attributes:
        pairs: number of pairs with a row of the same label, and as many with a row of another label, that each training
            row is in the first place of (the released code's `num_iterations`), 0 to 1000. With 0 the encoder does not
            learn, and the head is fitted to the vectors of the initial model.
        l2: penalty of the head: half of the sum of its squared weights is multiplied with it and added to the summed
            loss; 1 / C of scikit-learn's `LogisticRegression`, above 0.
    """

    pairs: Annotated[int, pydantic.Field(ge=0, le=1000)] = 20
    l2: pydantic.PositiveFloat = 1.0
