"""Parameter-efficient fine-tuning: a few weights are added to a frozen encoder, and saved in separate files."""
