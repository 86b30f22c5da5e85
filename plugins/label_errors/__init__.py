"""The search for wrong labels among the training rows of a job."""
