"""Designs: formulas over what documents carry, as columns of numbers."""
