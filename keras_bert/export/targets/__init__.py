"""Export targets, one for each runtime that `[export] runtimes` may name."""
