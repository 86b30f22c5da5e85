"""The types of artifacts: data, models, measurements, evaluations and pushed versions."""
