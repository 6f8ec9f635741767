"""Kernels: documents under fixed topics."""
