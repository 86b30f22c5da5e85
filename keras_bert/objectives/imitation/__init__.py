"""Losses between hidden states or attentions of a student and of its teacher, one loss a file."""
