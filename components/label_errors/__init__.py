"""What the steps of the search for wrong labels share: artifacts, folds of rows, and the order of rows."""
