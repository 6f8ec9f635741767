"""What people look at: topics by column, in pictures and in the terminal."""
