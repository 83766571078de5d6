"""The process on the GPU machine: jobs, forks, locks, telemetry."""
