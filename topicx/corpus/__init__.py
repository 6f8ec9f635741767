"""Text to corpus: tokenising, importers (one module a format), and what is done to a corpus before
training."""
