"""Token masking for masked language modelling."""
