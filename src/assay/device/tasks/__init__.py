"""One module a task that a job can name."""
