"""The runtimes of commands: the host, or a container of Docker, Podman or Apptainer."""
