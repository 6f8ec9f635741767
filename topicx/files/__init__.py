"""topicx's own files: their form, what each must hold, and how they are written."""
