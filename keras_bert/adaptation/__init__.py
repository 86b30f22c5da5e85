"""Parameter-efficient fine-tuning: few weights beside a frozen encoder, and files that hold them alone."""
