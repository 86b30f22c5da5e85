"""Dynamic loss scaling (Micikevicius et al. 2018, section 3.2): small float16 gradients must not become zero."""

import dataclasses


@dataclasses.dataclass
class LossScale:
    """What the loss is multiplied with, and the gradients are divided by.

    Halved by every step whose gradients overflow, which is left out; doubled after so many steps without one.

    Attributes:
        scale: now.
        steady: steps since the last change.
        skipped: steps left out.
        patience: steps until it doubles.
    """

    scale: float = 2.0**15
    steady: int = 0
    skipped: int = 0
    patience: int = 2000

    def update(self, *, overflow: bool) -> None:
        """Takes note of a step.

        Raises:
            ArithmeticError: the gradients overflow though the loss is not scaled up any more.
        """
        if overflow:
            if self.scale <= 2.0**-10:
                raise ArithmeticError(f"gradients overflow float16 even with a loss scale of {self.scale}")
            self.scale, self.steady, self.skipped = self.scale / 2, 0, self.skipped + 1
        elif self.steady + 1 >= self.patience:
            self.scale, self.steady = self.scale * 2, 0
        else:
            self.steady += 1
