"""What a trained model is, and what differs from model to model."""
