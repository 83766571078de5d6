"""What a record beside the figures came to."""

from assay.records.base import Record
from assay.records.measurements import CheatsRecord, ProfileRecord, StopwatchRecord
from assay.records.operators import OperatorsRecord
from assay.records.sanitizer import SanitizerRecord


def came_to_nothing(record: Record) -> bool:
    """Whether a record says ``failed``, or a stopwatch's of an arm.

    What other records say of a single kernel that crashed is a finding, and stands.
    """
    match record:
        case StopwatchRecord():
            return any(arm.status == "failed" for arm in record.arms)
        case ProfileRecord() | CheatsRecord() | SanitizerRecord() | OperatorsRecord():
            return record.status == "failed"
    return False
