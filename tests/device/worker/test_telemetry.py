"""telemetry: the right GPU or a sentence; samples; what voids a block."""

import pytest

from assay.device.worker.telemetry import NvmlSample, Recorder, TelemetryTrace, choose_device
from assay.shared.errors import NoDevice
from assay.shared.specs import TargetSpec
from tests.device.helpers import SteadySensor

H100 = TargetSpec("h100", "NVIDIA H100 80GB HBM3")


class FakeNvml:
    """As much of pynvml as is asked here."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, products, mig=0):
        self.products, self.mig = products, mig

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.products)

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        return int(uuid[-1])

    def nvmlDeviceGetName(self, handle):  # noqa: N802
        return self.products[handle].encode()

    def nvmlDeviceGetUUID(self, handle):  # noqa: N802
        return f"GPU-0000-{handle}"

    def nvmlDeviceGetMigMode(self, handle):  # noqa: N802
        return [self.mig, 0]

    def nvmlDeviceGetClockInfo(self, handle, clock):  # noqa: N802
        return {1: 1755, 2: 2619}[clock]

    def nvmlDeviceGetPowerUsage(self, handle):  # noqa: N802
        return 350_500

    def nvmlDeviceGetTemperature(self, handle, sensor):  # noqa: N802
        return 55

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):  # noqa: N802
        return 4


class TestChooseDevice:
    def test_takes_the_first_that_matches(self):
        nvml = FakeNvml(["NVIDIA L4", H100.product_pattern, H100.product_pattern])
        assert choose_device(nvml, H100, {}).uuid == "GPU-0000-1"

    def test_stays_within_the_visible_devices(self):
        nvml = FakeNvml([H100.product_pattern] * 3)
        assert choose_device(nvml, H100, {"CUDA_VISIBLE_DEVICES": "2,1"}).index == 2
        chosen = choose_device(nvml, H100, {"CUDA_VISIBLE_DEVICES": "GPU-0000-1"})
        assert chosen.index == 1

    @pytest.mark.parametrize(
        ("product", "mig", "visible", "said"),
        [
            ("NVIDIA L4", 0, {}, "NVIDIA L4"),
            (H100.product_pattern, 1, {}, "MIG"),
            (H100.product_pattern, 0, {"CUDA_VISIBLE_DEVICES": "MIG-abc"}, "MIG"),
        ],
    )
    def test_names_what_is_there_instead(self, product, mig, visible, said):
        with pytest.raises(NoDevice, match=said):
            choose_device(FakeNvml([product], mig=mig), H100, visible)


def test_the_recorder_samples_at_its_interval_and_not_faster():
    now = [100.0]
    recorder = Recorder(SteadySensor(), 0.025, lambda: now[0])
    for step in range(100):
        now[0] = 100.0 + step * 0.005
        recorder.poll()
    gaps = [b - a for a, b in zip(recorder.telemetry.at, recorder.telemetry.at[1:], strict=False)]
    assert min(gaps) >= 0.0249
    assert max(gaps) <= 0.031


class TestVoidReason:
    def telemetry(self, *reasons):
        readings = [NvmlSample(1, 1, 1.0, 1, bits) for bits in reasons]
        return TelemetryTrace([float(at) for at in range(len(reasons))], readings)

    @pytest.mark.parametrize(
        ("bits", "reason"),
        [
            (0x08, "hardware slowdown"),
            (0x20, "software thermal slowdown"),
            (0x40, "hardware thermal slowdown"),
            (0x80, "hardware power brake"),
            (0x84, "hardware power brake"),
            (0x0, None),
            (0x1, None),
            (0x4, None),
        ],
    )
    def test_thermal_and_brake_events_void(self, bits, reason):
        assert self.telemetry(0, bits, 0).void_reason(0.9, 1.1, 0.05) == reason

    def test_only_the_span_counts_widened_by_one_interval(self):
        telemetry = self.telemetry(0, 0, 0x40)
        assert telemetry.void_reason(0.0, 1.0, 0.5) is None
        assert telemetry.void_reason(0.0, 1.5, 0.5) is not None

    def test_an_event_shows_in_the_next_sample_however_late_it_is(self):
        telemetry = self.telemetry(0, 0x40, 0)
        assert telemetry.void_reason(0.2, 0.3, 0.05) is not None
        assert telemetry.void_reason(2.2, 2.3, 0.05) is None
