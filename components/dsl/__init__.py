"""A step as the runtime sees it: components, artifacts, errors, and a place to work in."""
