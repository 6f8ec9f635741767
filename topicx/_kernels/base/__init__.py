"""Kernels: lanes, vectors, random numbers, special functions."""
