"""Wrong labels among training rows: confident learning, and the settings of the search."""
