"""Kernels: soft assignments (CVB0, CVB, VB)."""
