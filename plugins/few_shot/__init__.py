"""Fine-tuning on few rows of each label as a part of a job."""
