"""Dynamic loss scaling keeps small float16 gradients from becoming zero (Micikevicius et al. 2018, section 3.2)."""

import dataclasses


@dataclasses.dataclass
class LossScale:
    """The factor that the loss is multiplied with and the gradients are divided by.

    A step whose gradients overflow is skipped and halves the scale. It doubles after `patience` steps without overflow.
    `steady` is the number of steps since the last change.
    """

    scale: float = 2.0**15
    steady: int = 0
    skipped: int = 0
    patience: int = 2000

    def update(self, *, overflow: bool) -> None:
        """Updates the scale after a step.

        Raises:
            ArithmeticError: the gradients overflow even with the smallest scale.
        """
        if overflow:
            if self.scale <= 2.0**-10:
                raise ArithmeticError(f"gradients overflow float16 even with a loss scale of {self.scale}")
            self.scale, self.steady, self.skipped = self.scale / 2, 0, self.skipped + 1
        elif self.steady + 1 >= self.patience:
            self.scale, self.steady = self.scale * 2, 0
        else:
            self.steady += 1
