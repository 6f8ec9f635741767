"""Assignments, the schedule and the one chain loop; which samplers there are."""
