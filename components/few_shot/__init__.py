"""What the steps of fine-tuning on few rows share: pairs of rows with a label in common."""
