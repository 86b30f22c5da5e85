"""Modules that all packages of the library share: checks, configuration, names of files, losses."""
