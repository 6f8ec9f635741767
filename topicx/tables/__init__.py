"""Tables as files, and documents' topics as tables."""
