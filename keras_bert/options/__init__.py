"""What a person chooses, in frozen records that are checked when they are made; a file a reader."""
