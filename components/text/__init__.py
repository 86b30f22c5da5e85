"""Pure functions on text: sentence splitting and near-duplicate detection."""
