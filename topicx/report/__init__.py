"""Reports: a model as one HTML file that a colleague opens, as Markdown, or as JSON."""
