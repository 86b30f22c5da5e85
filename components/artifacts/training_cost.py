"""What a training on labelled rows costs."""

from components.dsl.artifact import Artifact

TRAINING_COST_FILE = "training_cost.json"


class TrainingCost(Artifact):
    """`training_cost.json`: {"step": seconds, "steps": timed, "begin": seconds, "rows": {"train": ..., ...}}.

    `begin` is what came before steady steps: reading, building and compiling.
    """
