"""The modules that both Pythons read: standard library and numpy only."""
