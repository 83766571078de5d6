"""The base of every record: strict types, no unknown fields, no NaN, immutable."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=80)]
"""A lower-case id that is safe as a file name and as a Snakemake wildcard."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 digest in lower-case hexadecimal."""

FileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$", max_length=120)
]
"""The name of a file in a folder that is given: no path, no option, nothing hidden."""

PathBelow = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$", max_length=300
    ),
]
"""A path below a folder that is given, in its shortest form; no part begins with a dot."""

Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=120)]
"""A name of C or Python: a launcher, a macro, a function."""

CompilerWord = Annotated[str, StringConstraints(pattern=r"^-[!-~]+$", max_length=200)]
"""One word of a compiler's command line that is no file."""

PackageName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=120)
]
"""The name of a Python distribution."""

SlurmName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)
]
"""A name in Slurm's configuration: no option, no white space, no shell."""

Measurable = Annotated[float, Field(ge=0)]
"""A finite, non-negative number (NaN and infinities are refused by the model config)."""

Scalar = str | int | float | bool


class Record(BaseModel):
    """Base of all records. Validate from JSON text, so that strict mode reads enums and tuples.

    The texts below the fields are read by ``tools.json_schemas`` alone, which asks pydantic for
    them: it reads each class's source for that, at every start.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )


class GpuRecord(Record):
    """A record of what ran on a GPU, which it names."""

    gpu_uuid: str
