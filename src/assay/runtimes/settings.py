"""The settings of a container: its user, rights, limits, mounts and variables."""

import resource
from collections.abc import Mapping
from typing import Any

import docker.types

from assay.runtimes import owners
from assay.runtimes.base import Task, caller
from assay.runtimes.gpu_access import Access

MEMORY_SHARE = 0.9
"""Of the machine's memory: a job that leaks ends before it takes the machine with it."""
PIDS = 16384
"""Processes and threads: a few for each core of the largest machines, far from a fork bomb."""
SHARED_MEMORY = 1 << 30
"""Bytes of /dev/shm, which PyTorch's processes use; counted against the memory limit."""
OPEN_FILES = 4096
"""Enough for a link of CUTLASS; more than a daemon inside of a container may have to give."""
LIBRARY_PATH = "LD_LIBRARY_PATH"
NOT_FOUND = "assay: the image has no such command"
NO_MEMORY = "assay: the kernel ended it for want of memory"
SHELL = (
    "/bin/sh",
    "-c",
    f"""exec 2>&1
command -v "$1" >/dev/null || {{ echo "{NOT_FOUND}"; exit 127; }}
"$@"
code=$?
if [ $code -eq 137 ]; then
    for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        [ -r $file ] || continue
        while read -r key count; do
            if [ "$key" = oom_kill ] && [ "$count" -gt 0 ]; then echo "{NO_MEMORY}"; fi
        done <$file
    done
fi
exit $code""",
    "sh",
)
"""Process 1 of every container, with the command as its child.

One pipe for both streams keeps their lines in order. The command is no process 1 itself, since the
kernel keeps most signals from one, those of abort() and kill included; engines have inits of their
own, but not everywhere. And Podman tells of no lack of memory on older control groups.
"""


def settings_of(
    task: Task,
    image_id: str,
    info: Mapping[str, Any],
    access: Access,
    *,
    is_podman: bool,
) -> dict[str, Any]:
    """Return what the engine is asked to create; the same for Docker and Podman but for rootless
    users.
    """
    user, namespace = user_of(info, is_podman=is_podman)
    mounts = [
        docker.types.Mount(str(bind.path), str(bind.path), type="bind", read_only=not bind.writable)
        for bind in task.binds
    ]
    mounts += [
        docker.types.Mount(inside, host, type="bind", read_only=True)
        for inside, host in access.mounts.items()
    ]
    memory = int(info.get("MemTotal", 0) * MEMORY_SHARE)
    host = docker.types.HostConfig(
        version="1.41",
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": "rw,exec,nosuid,nodev,mode=1777"},  # noqa: S108 - inside of the container
        mounts=mounts,
        cap_drop=["ALL"],
        # Where the driver restricts its counters it asks for this; a user who is not root gains
        # nothing by it.
        cap_add=["SYS_ADMIN"] if task.counters else None,
        # Labels off: SELinux would hide the binds from the container otherwise.
        security_opt=["no-new-privileges", "label=disable"],
        pids_limit=PIDS,
        shm_size=SHARED_MEMORY,
        ulimits=_ulimits(is_podman=is_podman),
        log_config=docker.types.LogConfig(type="none"),
        device_requests=list(access.requests) or None,
        devices=list(access.devices),
        **({"mem_limit": memory, "memswap_limit": memory} if memory else {}),
    )
    if namespace:
        host["UsernsMode"] = namespace  # the SDK knows "host" only
    return {
        "Image": image_id,
        "Entrypoint": list(SHELL),
        "Cmd": list(task.command),
        "WorkingDir": str(task.directory),
        "User": user,
        "Env": [f"{key}={value}" for key, value in environment_of(task, access).items()],
        "Labels": {owners.LABEL: owners.myself(), "assay.task": task.label},
        "AttachStdin": False,
        "OpenStdin": False,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "NetworkDisabled": True,
        "HostConfig": host,
    }


def environment_of(task: Task, access: Access) -> dict[str, str]:
    """Return a container's variables: HOME in its own /tmp, the GPUs', and the task's before
    those.
    """
    merged = {"HOME": "/tmp", **access.environment, **task.environment}  # noqa: S108 - see above
    folders = [one.get(LIBRARY_PATH) for one in (task.environment, access.environment)]
    if present := [folder for folder in folders if folder]:
        merged[LIBRARY_PATH] = ":".join(present)
    return merged


def user_of(info: Mapping[str, Any], *, is_podman: bool) -> tuple[str, str | None]:
    """User and group inside, and the user namespace, that are the caller's outside."""
    options = {str(one).split(",")[0] for one in info.get("SecurityOptions") or ()}
    rootless = bool(info.get("Rootless")) or "name=rootless" in options
    if rootless and is_podman:
        return caller(), "keep-id"
    if rootless:
        return "0:0", None  # root of a rootless Docker is its owner
    return caller(), "host" if "name=userns" in options else None


def _ulimits(*, is_podman: bool) -> list[docker.types.Ulimit]:
    """Explicit, since an engine's defaults may exceed what it may give; no core files are left.

    Podman's service asks for a million processes when nothing is said, and its own limit may be
    below the caller's.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    limits = {"nofile": (min(files, soft), files), "core": (0, 0)}
    if is_podman:
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        processes = PIDS if most == resource.RLIM_INFINITY else min(PIDS, most)
        limits["nproc"] = (processes, processes)
    return [docker.types.Ulimit(name=n, soft=low, hard=high) for n, (low, high) in limits.items()]
