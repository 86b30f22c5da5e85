"""BERT, and the families with BERT's graph: RoBERTa, DistilBERT, ELECTRA, ALBERT and others."""
