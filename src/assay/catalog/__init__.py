"""Claims, targets, workloads, comparisons, kernels: the configuration of one tree."""
