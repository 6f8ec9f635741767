"""Kernels: draws between sweeps."""
