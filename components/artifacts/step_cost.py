"""What a step of pre-training costs."""

from components.dsl.artifact import Artifact

COST_FILE = "cost.json"


class StepCost(Artifact):
    """`cost.json`: {"lengths": [{"length": 64, "flops": ..., "seconds": ...}, ...], "bytes_a_piece": ...}.

    An entry a length of rows, the shorter first; seconds where steps were timed. Bytes are those of the pieces that are
    predicted in validation, in the mean: by them losses of several vocabularies can be told in one unit.
    """
