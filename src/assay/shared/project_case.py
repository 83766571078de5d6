"""A project's function: what it is called with beside its parameters, and returns beside arms."""

GIVEN = "device"
RESERVED = ("inputs", "oracle", "output")
