"""Hidden Markov models with discrete emissions: documents are sequences, words are symbols."""
