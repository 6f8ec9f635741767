"""Kernels: counts, and estimates from a state."""
