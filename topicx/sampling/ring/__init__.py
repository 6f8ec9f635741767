"""Sampling over places that share files alone: shards of documents stay, blocks of words go round."""
