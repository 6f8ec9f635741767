"""Kernels: Gibbs samplers, and the rows they work on."""
