"""Answers whole tables with a model: chunks of rows -> parts with answers -> one file, as a Beam pipeline."""
