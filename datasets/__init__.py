"""The embedded demonstration corpus and the synthetic generators."""
