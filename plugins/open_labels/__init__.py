"""Labels as data: labels that are added, renamed and removed after the model has shipped."""
