"""Signed evidence that is more than a parser should be given, or that means two things."""

import gzip

from tests.cases.bombs import gzip_bomb
from tests.cases.site import Site

BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"


def write(site: Site, path: str, text: str, times: int = 1, end: str = "") -> None:
    """Put a text, so many times over, in place of a file of the report."""
    site.put(path, (text * times + end).encode())


def bomb(site: Site, megabytes: int, says: int | None = None) -> None:
    """Put zeros that are a thousandth of their size in place of the samples.

    ``says``: the size that the end of the file tells.
    """
    site.put(BENCHMARK, gzip_bomb(megabytes, says=says))


def squeeze_spaces(site: Site, megabytes: int) -> None:
    """Put so much white space behind the samples: small, sound JSON."""
    data = gzip.decompress((site.report / BENCHMARK).read_bytes())
    site.put(BENCHMARK, gzip.compress(data + b" " * (megabytes << 20), mtime=0))


def respell_gzip(site: Site, way: str) -> None:
    """Compress the samples in a way that readers may take differently."""
    data = (site.report / BENCHMARK).read_bytes()
    other = {
        "second member": data + gzip.compress(b"{}", mtime=0),
        "trailing bytes": data + b"more" + data[-4:],
        "cut": data[:-60] + data[-4:],
        "wrong sum": data[:-8] + bytes(4) + data[-4:],
        "not compressed": gzip.decompress(data),
        "nothing": b"",
    }
    site.put(BENCHMARK, other[way])


def insert(site: Site, path: str, text: str, by: str) -> None:
    """Put one text of a configuration file in the place of another."""
    file = site.report / path
    old = file.read_text()
    assert text in old
    file.write_text(old.replace(text, by))


def say_reproduced(site: Site) -> None:
    """Have the page and the text say that everything is reproduced."""
    for name in ("report.html", "report.md"):
        file = site.report / name
        old = file.read_text()
        new = old.replace("inconclusive", "reproduced").replace("not reproduced", "reproduced")
        assert new != old
        file.write_text(new)
