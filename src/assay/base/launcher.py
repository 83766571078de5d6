"""Makes the host environment from the hash-pinned locks, then becomes the command line in it.

Runs before anything is installed: standard library only. ``.venv/assay.json`` is written last and
names the locks' digests, so that a changed lock or an interrupted start leads to a fresh install.

Environment variables: ``ASSAY_PYTHON`` (the interpreter to build on), ``ASSAY_WHEELHOUSE`` (a
directory of the locks' distributions, for machines without a network), ``ASSAY_NO_VENV=1`` (use
the interpreter and the packages it already has, for nodes whose environment is given),
``ASSAY_TEST_REQUIRE`` (parts of the test suite that must not be skipped; see tests/conftest.py).
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from assay import __version__
from assay.base.checkout_root import installed_root
from assay.base.errors import AssayError, BadInput, MissingEnvironment
from assay.base.isolation import IGNORED, isolated
from assay.base.pip_locks import lock_digest, lock_versions, pip_install, pip_remedy, tail
from assay.base.progress import TYPED, exclusive, quote, say, show_sentence, typed_command, watch
from assay.base.signals import SignalledExit, leave_on_signals
from assay.shared.counting import counted
from assay.shared.errors import ExitCode
from assay.shared.files import write_json

COMMIT = "COMMIT"
"""File of an installed tree that names the commit it was made from, where that was clean."""
OLDEST = (3, 11)
STAMP = "assay.json"
TEST_LOCKS = ("torch", "parquet", "docs")
"""Further locks of the test suite; each is called as the part that needs it."""


def main(root: str, arguments: Sequence[str]) -> int:
    """Become the command line in its environment; returns an exit code only where that fails."""
    try:
        leave_on_signals()
        if os.environ.get("PYTHONPATH"):
            say(IGNORED)
        become(prepare(Path(root), arguments, os.environ), Path(root), arguments, os.environ)
    except AssayError as error:
        show_sentence(str(error))
        return error.exit_code
    except (KeyboardInterrupt, SignalledExit) as stop:
        say("interrupted: the next start begins again")
        return stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
    except OSError as error:
        say(f"{error.filename}: cannot be started: {error.strerror}; remove {root}/.venv, or name "
            "another Python with ASSAY_PYTHON")  # fmt: skip
        return ExitCode.MACHINE_LACKS


def installed() -> int:
    """Do the same for the entry point of an installed package, on the tree that came with it."""
    root = installed_root()
    if root is None:
        say("the tree that the package came with is gone: install it again")
        return ExitCode.MACHINE_LACKS
    if (root / COMMIT).is_file():
        commit = (root / COMMIT).read_text(encoding="utf-8").strip()
        os.environ.setdefault("ASSAY_COMMIT", commit)
    if sys.argv[1:] == ["--version"]:  # asked first of all, and answered without an environment
        print(f"{__version__} (commit {os.environ.get('ASSAY_COMMIT') or 'not known'})")
        return ExitCode.DONE
    return main(str(root), sys.argv[1:])


def become(
    python: Path, root: Path, arguments: Sequence[str], environ: Mapping[str, str]
) -> NoReturn:
    """Replace this process by ``python -m assay.cli``, which finds our modules first."""
    environment = isolated(environ, [root / "src"])
    environment[TYPED] = typed_command(sys.argv[0], root / "assay")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [str(python), "-m", "assay.cli", *arguments], environment)  # noqa: S606


def prepare(root: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> Path:
    """Path of a Python that has what the arguments need. Raises MissingEnvironment, BadInput."""
    base = base_python(environ)
    if command_of(arguments) == "test" and not (root / "tests").is_dir():
        raise BadInput(
            "an installed package has no test suite: clone the repository, and type ./assay test "
            "there"
        )
    if environ.get("ASSAY_NO_VENV") == "1":
        return base
    locks = {
        name: lock_digest(root / "requirements" / f"{name}.txt")
        for name in needed_locks(arguments, environ)
    }
    venv = root / ".venv"
    wanted_base = str(base) if "ASSAY_PYTHON" in environ else None
    try:
        if missing_locks(venv, locks, wanted_base) != []:
            with exclusive(
                root / ".venv.lock", "another start is installing the environment; waiting for it"
            ):
                install(root, venv, base, locks, wanted_base=wanted_base, environ=environ)
    except OSError as error:
        raise MissingEnvironment(
            f"cannot write the Python environment below {root}: {error.strerror or error}; "
            "make that directory writable or run from a copy"
        ) from error
    return venv / "bin" / "python"


def needed_locks(arguments: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Locks by name: Parquet, documents and tests need more, and required parts of tests."""
    command = command_of(arguments)
    if command == "export" and any(word.endswith("parquet") for word in arguments):
        return ["host", "parquet"]
    words = [word for word in arguments if not word.startswith("-")]
    if words[:2] == ["lab", "docs"] and words[2:]:  # without a folder it only complains
        return ["host", "docs"]
    if command != "test":
        return ["host"]
    required = environ.get("ASSAY_TEST_REQUIRE", "").split()
    return ["host", "test", *(lock for lock in TEST_LOCKS if lock in required)]


def command_of(arguments: Sequence[str]) -> str | None:
    """Return the subcommand: the first argument that is no option."""
    return next((word for word in arguments if not word.startswith("-")), None)


def base_python(environ: Mapping[str, str]) -> Path:
    """Return the interpreter to build on: ASSAY_PYTHON, or the one that runs now."""
    chosen = environ.get("ASSAY_PYTHON")
    if chosen is None:
        return Path(sys.executable)
    path = shutil.which(chosen)
    if path is None or not answers(
        Path(path), f"import sys; raise SystemExit(sys.version_info < {OLDEST})"
    ):
        raise MissingEnvironment(
            f"ASSAY_PYTHON={chosen} is no Python 3.11 or newer that starts; name one that is"
        )
    return Path(path)


def answers(python: Path, code: str) -> bool:
    """Return whether an interpreter runs ``code`` without an error."""
    command = [str(python), "-I", "-c", code]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def missing_locks(
    venv: Path, locks: Mapping[str, str], wanted_base: str | None
) -> list[str] | None:
    """Locks still to be installed, or None when the environment must be made anew."""
    stamp = read_stamp(venv)
    if (
        not (venv / "bin" / "python").exists()
        or stamp.get("place") != str(venv)
        or stamp.get("host") != locks["host"]
        or (wanted_base is not None and stamp.get("base") != wanted_base)
    ):
        return None
    return [name for name, value in locks.items() if stamp.get(name) != value]


def read_stamp(venv: Path) -> dict[str, str]:
    """Return what the environment was made from; empty when it is not whole."""
    try:
        found = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


Step = tuple[str, list[str], str]


def install(
    root: Path,
    venv: Path,
    base: Path,
    locks: Mapping[str, str],
    *,
    wanted_base: str | None,
    environ: Mapping[str, str],
) -> None:
    """Bring the environment up to the locks, its stamp last. Raises MissingEnvironment."""
    missing = missing_locks(venv, locks, wanted_base)
    if missing == []:
        return  # the start we waited for did it
    steps = creation(root, venv, base, environ) if missing is None else []
    for name in locks if missing is None else missing:
        lock = root / "requirements" / f"{name}.txt"
        packages = counted(len(lock_versions(lock)), "package")
        command = pip_install(venv / "bin" / "python", lock, environ)
        title = f"installing {packages} of {lock.name}, each by its hash"
        steps.append((title, command, f"install-{name}.log"))
    if missing is None:
        stamp = {"place": str(venv), "base": str(base)}
        if venv.exists():
            shutil.rmtree(venv)
        venv.mkdir()
    else:
        stamp = read_stamp(venv)
        (venv / STAMP).unlink()
    for number, (title, command, log) in enumerate(steps, start=1):
        say(f"step {number} of {len(steps)}: {title}")
        if watch(command, venv / log, isolated(environ)) != 0:
            quote(tail(venv / log))
            remedy = pip_remedy(venv / log, venv)
            raise MissingEnvironment(
                f"step {number} ({title}) failed, see the lines above: {remedy}"
            )
    write_json({**stamp, **locks}, venv / STAMP)
    say("the Python environment is ready")


def creation(root: Path, venv: Path, base: Path, environ: Mapping[str, str]) -> list[Step]:
    """Return what makes an environment that holds only the pinned pip and build tools."""
    if not answers(base, "import venv, ensurepip"):
        raise MissingEnvironment(
            f"{base} has no venv module, or one that brings no pip: install it "
            "(apt-get install python3-venv) and start again"
        )
    tools = pip_install(venv / "bin" / "python", root / "requirements" / "build.txt", environ)
    return [
        (f"making .venv with {base}", [str(base), "-m", "venv", str(venv)], "create.log"),
        ("installing the pinned pip and build tools", tools, "install-build.log"),
    ]
