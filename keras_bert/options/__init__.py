"""Settings of the library as frozen validated dataclasses; one file for each group of steps that reads them."""
