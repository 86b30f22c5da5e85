"""Parts of an explanation: agreement with the teacher, attention heads, probes of words."""
