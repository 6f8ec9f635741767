"""Inputs: where bytes come from, and a module for each format of documents."""
