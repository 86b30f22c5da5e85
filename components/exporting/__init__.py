"""Files for other runtimes: how they are made, and what they say beside the model."""
