"""Where commands run: on the host, or in a container of Docker, Podman or Apptainer."""
