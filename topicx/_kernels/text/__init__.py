"""Kernels: text, records and windows of words."""
