"""Words for nvcc that read, write and start nothing beyond what a compilation does.

nvcc runs what it is told to: another host compiler, a plugin of it, the program it has just made.
So of somebody else's command lines only words of these forms are run here.
"""

import re
from collections.abc import Iterable

FLAGS = frozenset(
    {
        "-O1",
        "-O2",
        "-O3",
        "-c",
        "-cubin",
        "-lineinfo",
        "-shared",
        "-std=c++17",
        "-std=c++20",
        "-Xcompiler=-fPIE",
        "-Xcompiler=-fno-strict-aliasing",
        "--expt-extended-lambda",
        "--expt-relaxed-constexpr",
        "--keep",
        "--keep-dir=keep",
        "--use_fast_math",
    }
)
OF_A_RECIPE = frozenset({"-c", "-cubin", "-shared", "--keep", "--keep-dir=keep"})
"""Those among them that say what is made, which no arm of a project does."""
_DEFINE = re.compile(r"-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_]+)?")
_REGISTERS = re.compile(r"--?maxrregcount=[0-9]+")


def is_safe_word(word: str) -> bool:
    """Return whether a word is one of ``FLAGS``, a macro, or a bound on registers."""
    return (
        word in FLAGS
        or _DEFINE.fullmatch(word) is not None
        or _REGISTERS.fullmatch(word) is not None
    )


def refused_words(words: Iterable[str]) -> list[str]:
    """Return the words that no project's kernel is compiled with."""
    return [word for word in words if not is_safe_word(word) or word in OF_A_RECIPE]
