"""BigBird (Zaheer et al. 2020): attention to neighbouring, first, last and random blocks of tokens."""
