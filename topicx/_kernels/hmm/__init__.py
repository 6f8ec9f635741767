"""Kernels: hidden Markov models."""
