"""The host's half of measuring: jobs for the device side, and what came back."""
