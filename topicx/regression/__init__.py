"""What topics of documents have to do with what the documents have, and how sure that is."""
