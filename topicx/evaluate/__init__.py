"""Measures of a model."""
