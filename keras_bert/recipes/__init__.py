"""Fitting, distillation, pruning and quantization of a task, for notebooks and for steps of the pipeline."""
