"""Why ssh came to no connection, as one sentence: its words are all that it tells of it."""

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment

NO_CONNECTION = 255
"""ssh's own exit code; all others are those of the command that ran there."""


def connection_error(host: str, said: str) -> AssayError:
    """Return the error that ssh's words, as it says them in the C locale, stand for."""
    for words, kind, sentence in _KNOWN:
        if words in said:
            return kind(f"{host}: {sentence}")
    last = said.strip().splitlines()[-1:] or ["it does not say why"]
    return MissingEnvironment(f"{host}: no connection by ssh ({last[0].strip()})")


_KNOWN: tuple[tuple[str, type[AssayError], str], ...] = (
    (
        "Could not resolve hostname",
        BadInput,
        "there is no machine of that name: check it, or its entry in ~/.ssh/config",
    ),
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        CheckFailed,
        "its key is another than the one known here, so it may be another machine: ask whoever "
        "rents it out, then remove the old key with ssh-keygen -R",
    ),
    (
        "Host key verification failed",
        MissingEnvironment,
        "its key is not known here: connect once by hand (ssh HOST), compare the key that is shown "
        "with the one you were told, and start again",
    ),
    (
        "Permission denied",
        MissingEnvironment,
        "it does not let you in: have your public key put there (ssh-copy-id), or name the key "
        "with --ssh-option IdentityFile=FILE and the account as USER@HOST",
    ),
    (
        "Connection refused",
        MissingEnvironment,
        "nothing answers ssh there: see that it has started, and which port it has "
        "(--ssh-option Port=NUMBER)",
    ),
    (
        "Bad configuration option",
        BadInput,
        "ssh knows no such option: see --ssh-option, and ssh_config(5)",
    ),
)
