"""BERT, and the families that compute what BERT computes: RoBERTa, DistilBERT, ELECTRA, ALBERT and others."""
