"""Projects made of kernels that others wrote, in the formats of their benchmarks."""
