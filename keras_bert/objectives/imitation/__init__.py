"""Losses between hidden states or attentions of a student and of its teacher, a file for each loss."""
