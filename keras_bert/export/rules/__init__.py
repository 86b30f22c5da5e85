"""What exported files must keep, whatever they answer: a rule a small function, which gives a line for each breach."""
