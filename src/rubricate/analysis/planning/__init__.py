"""How many items and labels a figure takes."""
