"""Planning: how many items and labels a figure needs."""
