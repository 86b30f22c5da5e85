"""Training few weights beside a frozen encoder, and keeping them alone."""
