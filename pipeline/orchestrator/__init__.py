"""Nodes -> keys -> child processes -> published artifacts; knows no screen."""
