"""Export targets: one object for each runtime that `[export] runtimes` may name."""
