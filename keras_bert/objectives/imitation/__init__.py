"""What a student may imitate of its teacher beside the answers, a loss a file."""
