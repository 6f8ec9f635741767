"""The samplers: a module each."""
