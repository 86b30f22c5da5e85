"""BERT in plain Keras: configurations, bricks, tasks, training, compression and export."""
