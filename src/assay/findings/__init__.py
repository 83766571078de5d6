"""What the evidence says beside verdicts. Pure."""
