"""MALLET's way of doing it: its text pipeline, instance lists, options, priors and training run, over topicx."""
