"""Several tasks on one encoder: trained, compressed and exported together."""
