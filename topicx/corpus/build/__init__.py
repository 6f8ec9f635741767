"""The builder of corpora, and what waits on disk while one is built."""
