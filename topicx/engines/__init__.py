"""Who runs a schedule's cells: this process's threads."""
