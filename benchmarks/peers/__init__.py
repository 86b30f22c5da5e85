"""What ours is measured beside."""
