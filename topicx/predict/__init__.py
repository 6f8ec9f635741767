"""What a document means under a model."""
