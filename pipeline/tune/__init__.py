"""The best settings of a job by its validation rows: their space, an optimizer's trials, and what each is worth."""
