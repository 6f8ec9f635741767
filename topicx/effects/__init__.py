"""What documents' topics have to do with what the documents carry, and how sure that is."""
