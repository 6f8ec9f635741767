"""The classes that Python programs use: thin, over `topicx.run`."""
