"""The recipes on rows in memory, as notebooks use them."""
