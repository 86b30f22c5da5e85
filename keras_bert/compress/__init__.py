"""Making a trained model smaller: distillation and quantization."""
