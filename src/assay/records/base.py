"""The base of every record: strict types, no unknown fields, no NaN, immutable."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StringConstraints,
)
from pydantic_core import CoreSchema

ID_PATTERN = r"^[a-z0-9][a-z0-9_]*$"
Identifier = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=80)]
"""A lower-case id that is safe as a file name and as a Snakemake wildcard."""

SHA256_PATTERN = r"^[0-9a-f]{64}$"
Sha256 = Annotated[str, StringConstraints(pattern=SHA256_PATTERN)]

FileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$", max_length=120)
]
"""The name of a file in a folder that is given: no path, no option, nothing hidden."""

PATH_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$"
LONGEST_PATH = 300
PathBelow = Annotated[str, StringConstraints(pattern=PATH_PATTERN, max_length=LONGEST_PATH)]
"""A path below a folder that is given, in its shortest form; no part begins with a dot."""

SYMBOL_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
Symbol = Annotated[str, StringConstraints(pattern=SYMBOL_PATTERN, max_length=120)]

CALLABLE_PATTERN = (
    r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*\.py:[A-Za-z_]\w*$"
)
CallableName = Annotated[str, StringConstraints(pattern=CALLABLE_PATTERN, max_length=300)]
"""A function of a file below a folder that is given: ``softmax.py:case``."""

CompilerWord = Annotated[str, StringConstraints(pattern=r"^-[!-~]+$", max_length=200)]
"""One word of a compiler's command line that is no file."""

PACKAGE_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
PackageName = Annotated[str, StringConstraints(pattern=PACKAGE_PATTERN, max_length=120)]

SLURM_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
SlurmName = Annotated[str, StringConstraints(pattern=SLURM_PATTERN, max_length=64)]
"""A name in Slurm's configuration: no option, no white space, no shell."""

Measurable = Annotated[float, Field(ge=0)]
"""A finite, non-negative number (NaN and infinities are refused by the model config)."""

Unread = Annotated[Any, Field(exclude=True, repr=False)]
"""A field of earlier versions: read, never looked at, and not written again."""

Scalar = str | int | float | bool


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).utcoffset() is None:
        raise ValueError(f"'{text}' is a time of no time zone")
    return text


Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601 that says how far it is from UTC, so that it is one moment for any reader."""


def _fail_fast(schema: Any) -> None:
    """Have every list, tuple and set of a schema end at its first error."""
    if isinstance(schema, dict):
        if schema.get("type") in ("list", "tuple", "set", "frozenset"):
            schema["fail_fast"] = True
        for part in schema.values():
            _fail_fast(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            _fail_fast(part)


class Record(BaseModel):
    """Base of all records. Validate from JSON text, so that strict mode reads enums and tuples.

    The texts below the fields are read by ``tools.json_schemas`` alone, which asks pydantic for
    them: it reads each class's source for that, at every start.
    """

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that ends at a list's first wrong entry: each error takes a kilobyte."""
        schema = handler(source)
        _fail_fast(schema)
        return schema


class GpuSpan(Record):
    """The time in which one unit of work had a GPU to itself, by the clock of its machine."""

    began: Moment
    ended: Moment

    @property
    def ends(self) -> tuple[float, float]:
        """Return both in seconds since the epoch."""
        began, ended = (datetime.fromisoformat(each) for each in (self.began, self.ended))
        return began.timestamp(), ended.timestamp()

    @property
    def seconds(self) -> float:
        """Return how long it was."""
        began, ended = self.ends
        return ended - began


class GpuRecord(Record):
    """A record of what ran on a GPU, which it names."""

    gpu_uuid: str
    on_gpu: GpuSpan | None = None
    """When; None in records from before, and of what came to nothing."""
