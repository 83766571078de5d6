"""A time stamp authority of RFC 3161 on this machine: OpenSSL behind a small server on loopback."""

import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CONFIGURATION = """
[tsa]
default_tsa = here
[here]
serial = {folder}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
tsa_name = yes
ess_cert_id_alg = sha256
[stamps]
basicConstraints = CA:FALSE
extendedKeyUsage = critical,timeStamping
"""

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")


class Authority:
    """A certificate that vouches for a key that stamps; both are made in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "serial").write_text("01\n")
        (folder / "ts.cnf").write_text(CONFIGURATION.format(folder=folder))
        self._run("req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "ca.key",
                  "-out", "ca.pem", "-days", "30", "-subj", "/CN=Made-up CA")  # fmt: skip
        self._run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.csr",
                  "-subj", "/CN=Made-up TSA")  # fmt: skip
        self._run("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                  "-CAcreateserial", "-out", "tsa.pem", "-days", "30",
                  "-extfile", "ts.cnf", "-extensions", "stamps")  # fmt: skip

    @property
    def certificate(self) -> Path:
        """What a verifier trusts."""
        return self.folder / "ca.pem"

    def answer(self, query: bytes) -> bytes:
        """Stamp what a query asks for."""
        (self.folder / "query").write_bytes(query)
        self._run("ts", "-reply", "-config", "ts.cnf", "-queryfile", "query", "-inkey", "tsa.key",
                  "-signer", "tsa.pem", "-out", "answer")  # fmt: skip
        return (self.folder / "answer").read_bytes()

    def stamp(self, data: bytes, *options: str) -> bytes:
        """Stamp ``data`` without being asked by anybody."""
        (self.folder / "data").write_bytes(data)
        self._run("ts", "-query", "-data", "data", "-sha256", "-cert", *options, "-out", "own")
        return self.answer((self.folder / "own").read_bytes())

    def _run(self, *arguments: str) -> None:
        command = ["openssl", *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)


@contextmanager
def served(
    answer: Callable[[bytes], bytes],
    kind: str = "application/timestamp-reply",
    status: int = 200,
) -> Iterator[str]:
    """Serve answers to queries on a port of loopback; yields the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            body = answer(query)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tell nobody."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/stamp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
