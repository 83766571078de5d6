"""What both Pythons read: standard library and numpy only."""
