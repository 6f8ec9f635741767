"""This package beside other programs: speed, quality, memory."""
