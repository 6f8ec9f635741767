"""Text to words: tokenizer, stop words, stems, bigrams, chunks."""
