"""The device side: everything that touches a GPU, as a program of its own.

It runs under the GPU machine's Python (3.11 or newer, PyTorch 2.11 or newer, numpy, nvidia-ml-py),
knows no pydantic, and talks to the host by JSON files only: ``python -m assay.device JOB.json``.
"""
