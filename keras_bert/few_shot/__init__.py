"""Fine-tuning on few rows of each label: pairs of rows, and a logistic head."""
