"""What runs, and in what order."""
