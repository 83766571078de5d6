"""A layer is the same whatever order, dates, owners' names and engine its files came with."""

import copy
import io
import random
import stat
import tarfile
from pathlib import Path

import pytest

from assay.images.archive import ImageConfig, verify_archive, write_archive
from assay.images.layer import normalise

EPOCH = 1_600_000_000
NEVER = 2_000_000_000


def member(name: str, kind: bytes = tarfile.REGTYPE, **values: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mtime, info.mode = kind, NEVER, 0o755
    for key, value in values.items():
        setattr(info, key, value)
    return info


def write_tar(
    path: Path, members: list[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.PAX_FORMAT
) -> Path:
    with tarfile.open(path, "w", format=form) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


FILES = [
    (member("./usr/", tarfile.DIRTYPE), b""),
    (member("./usr/bin/", tarfile.DIRTYPE), b""),
    (member("./usr/bin/tool", uname="someone", gname="wheel", mode=0o4755, uid=3), b"\x7fELF"),
    (member("./usr/bin-extra"), b"x"),
    (member("./usr/lib", tarfile.SYMTYPE, linkname="bin"), b""),
    (member("./usr/old", mtime=1_000_000_000), b"old"),
]


class TestNormalised:
    def test_order_and_spelling_of_names_do_not_matter(self, tmp_path: Path):
        shuffled = list(FILES)
        random.Random(1).shuffle(shuffled)
        bare = []
        for info, content in shuffled:
            name = info.name.removeprefix("./").rstrip("/")
            other = copy.copy(info)
            other.name = name
            bare.append((other, content))
        first = normalise(write_tar(tmp_path / "a", FILES), tmp_path / "x", EPOCH)
        second = normalise(
            write_tar(tmp_path / "b", bare, tarfile.GNU_FORMAT), tmp_path / "y", EPOCH
        )
        assert first == second
        assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()

    def test_a_directory_stands_before_what_it_holds(self, tmp_path: Path):
        normalise(write_tar(tmp_path / "a", FILES), tmp_path / "x", EPOCH)
        found = [name for name in names(tmp_path / "x") if name.startswith("usr")]
        assert found == ["usr", "usr/bin", "usr/bin/tool", "usr/bin-extra", "usr/lib", "usr/old"]

    def test_no_date_after_the_epoch_and_owners_by_number(self, tmp_path: Path):
        normalise(write_tar(tmp_path / "a", FILES), tmp_path / "x", EPOCH)
        with tarfile.open(tmp_path / "x") as archive:
            assert {info.mtime for info in archive} == {EPOCH, 1_000_000_000}
            assert {(info.uname, info.gname) for info in archive} == {("", "")}
            tool = archive.getmember("usr/bin/tool")
            assert (tool.uid, stat.S_IMODE(tool.mode)) == (3, 0o4755)
            content = archive.extractfile(tool)
            assert content is not None
            assert content.read() == b"\x7fELF"

    def test_the_first_name_of_a_hard_link_holds_the_content(self, tmp_path: Path):
        one = [
            (member("usr/perl5"), b"perl"),
            (member("usr/perl", tarfile.LNKTYPE, linkname="usr/perl5"), b""),
        ]
        other = [
            (member("./usr/perl"), b"perl"),
            (member("./usr/perl5", tarfile.LNKTYPE, linkname="./usr/perl"), b""),
        ]
        first = normalise(write_tar(tmp_path / "a", one), tmp_path / "x", EPOCH)
        assert first == normalise(write_tar(tmp_path / "b", other), tmp_path / "y", EPOCH)
        with tarfile.open(tmp_path / "x") as archive:
            assert archive.getmember("usr/perl").isreg()
            assert archive.getmember("usr/perl5").linkname == "usr/perl"

    def test_what_belongs_to_one_container_is_left_out(self, tmp_path: Path):
        noise = [
            (member(".dockerenv"), b""),
            (member("dev/console", tarfile.CHRTYPE), b""),
            (member("usr/null", tarfile.CHRTYPE), b""),
            (member("run/.containerenv"), b"x"),
            (member("etc/hostname"), b"3f2a\n"),
            (member("etc/resolv.conf", mode=0o600), b"nameserver\n"),
            (member("etc/mtab", tarfile.SYMTYPE, linkname="../proc/self/mounts"), b""),
            (member("tmp/left"), b"x"),
            (member("var/log/apt/", tarfile.DIRTYPE), b""),
            (member("var/log/apt/history.log"), b"now"),
            (member("var/cache/ldconfig/aux-cache"), b"inodes"),
            (member("usr/lib/python3/__pycache__/", tarfile.DIRTYPE), b""),
            (member("usr/lib/python3/__pycache__/a.pyc"), b"x"),
        ]
        normalise(write_tar(tmp_path / "a", noise), tmp_path / "x", EPOCH)
        assert names(tmp_path / "x") == [
            "dev",
            "etc",
            "etc/hostname",
            "etc/hosts",
            "etc/mtab",
            "etc/resolv.conf",
            "proc",
            "run",
            "sys",
            "tmp",
            "var",
            "var/log",
            "var/log/apt",
            "var/tmp",
        ]
        with tarfile.open(tmp_path / "x") as archive:
            assert archive.getmember("etc/resolv.conf").size == 0
            assert archive.getmember("tmp").mode == 0o1777

    def test_extended_attributes_are_left_out(self, tmp_path: Path):
        plain = normalise(write_tar(tmp_path / "a", [(member("x"), b"1")]), tmp_path / "x", EPOCH)
        marked = member("x", pax_headers={"SCHILY.xattr.user.a": "b", "atime": "123.5"})
        assert (
            normalise(write_tar(tmp_path / "b", [(marked, b"1")]), tmp_path / "y", EPOCH) == plain
        )

    @pytest.mark.parametrize("cut", [600, 2000, 5000])
    def test_a_cut_archive_is_refused(self, tmp_path: Path, cut: int):
        source = write_tar(tmp_path / "a", [(member("x"), b"1" * 8000)])
        source.write_bytes(source.read_bytes()[:cut])
        with pytest.raises(tarfile.TarError):
            normalise(source, tmp_path / "x", EPOCH)

    def test_a_link_to_nothing_is_refused(self, tmp_path: Path):
        source = write_tar(tmp_path / "a", [(member("x", tarfile.LNKTYPE, linkname="gone"), b"")])
        with pytest.raises(tarfile.TarError, match="x is a link to gone"):
            normalise(source, tmp_path / "x", EPOCH)


class TestAnArchive:
    CONFIG = ImageConfig({"PATH": "/bin"}, {"assay.role": "runner"}, EPOCH)

    def test_tells_its_own_digests(self, tmp_path: Path):
        made = write_archive(
            write_tar(tmp_path / "a", FILES), tmp_path / "image.tar", self.CONFIG, "assay/x:1"
        )
        assert verify_archive(tmp_path / "image.tar") == (
            made.image_id,
            (f"sha256:{made.layer.sha256}",),
        )

    def test_a_changed_byte_changes_a_digest(self, tmp_path: Path):
        made = write_archive(
            write_tar(tmp_path / "a", FILES), tmp_path / "image.tar", self.CONFIG, "assay/x:1"
        )
        data = (tmp_path / "image.tar").read_bytes()
        (tmp_path / "image.tar").write_bytes(data.replace(b"\x7fELF", b"\x7fEVIL"[:4]))
        _, layers = verify_archive(tmp_path / "image.tar")
        assert layers != (f"sha256:{made.layer.sha256}",)
