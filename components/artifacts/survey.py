"""What a teacher leaves a student to lose."""

from components.dsl.artifact import Artifact

SURVEY_FILE = "survey.json"


class Survey(Artifact):
    """`survey.json`: the teacher's shape, and what rows need of its pieces.

    {"config": EncoderConfig.as_dict(), "max_length": ..., "may_lose_parts": whether blocks may lose heads and units,
    "pieces": [{"size": ..., "kept_share": ...}, ...]}: sizes fall; the share is of the pieces of validation rows.
    """
