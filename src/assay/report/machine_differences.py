"""What differs between the machines of a report, and how many GPUs of one took part."""

from collections.abc import Iterator

from assay.evidence.model import Evidence
from assay.records.platform import PlatformRecord
from assay.shared.counting import agreeing, counted


def machine_differences(evidence: Evidence) -> tuple[str, ...]:
    """Return what else than the GPU differs between the machines of a report's targets."""
    told: dict[str, dict[str, list[str]]] = {}
    for target, platform in evidence.platforms.items():
        for device in platform.devices:
            for what, value in (
                ("driver", device.driver),
                ("CUDA of the driver", device.cuda_driver),
                ("CUDA runtime", device.cuda_runtime),
                ("PyTorch", device.torch),
                ("Triton", device.triton or "none"),
                ("commit that measured", (platform.commit or "not recorded")[:12]),
            ):
                names = told.setdefault(what, {}).setdefault(value, [])
                if target not in names:
                    names.append(target)
    return tuple(
        f"{what} differs: "
        + "; ".join(f"{value} ({', '.join(names)})" for value, names in values.items())
        for what, values in told.items()
        if len(values) > 1
    )


def several_gpus(evidence: Evidence) -> Iterator[str]:
    """Yield how many GPUs a target's figures were measured on, where they were several."""
    for target, platform in evidence.platforms.items():
        on: dict[str, int] = {}
        for (name, _), record in evidence.benchmarks.items():
            if name == target:
                on[record.gpu_uuid] = on.get(record.gpu_uuid, 0) + 1
        if len(on) > 1:
            parts = ", ".join(f"{count} on {_card(platform, uuid)}" for uuid, count in on.items())
            yield (
                f"{target}: its {counted(sum(on.values()), 'comparison')} "
                f"{agreeing(sum(on.values()), 'was', 'were')} shared out among {len(on)} GPUs of "
                f"one machine, each whole on one of them: {parts}."
            )


def _card(platform: PlatformRecord | None, uuid: str) -> str:
    card = platform.of_card(uuid) if platform else None
    return f"GPU {card.device.gpu.index}, {uuid[:12]}" if card else uuid[:12]
