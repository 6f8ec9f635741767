"""Other programs' states and models, in and out."""
