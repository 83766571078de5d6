"""What a platform record says of directories of packages."""

from pathlib import Path

from assay.measuring.host_platform import package_directories


def test_a_directory_of_packages_is_told_with_the_versions_that_lie_there(tmp_path: Path) -> None:
    for name, metadata in {
        "torch-2.11.0.dist-info": "Name: torch\nVersion: 2.11.0\n",
        "nvidia_ml_py-13.580.dist-info": "Name: nvidia-ml-py\nVersion: 13.580\n",
        "broken-1.dist-info": "",
    }.items():
        (tmp_path / "full" / name).mkdir(parents=True)
        (tmp_path / "full" / name / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
    (tmp_path / "empty").mkdir()
    full, empty = package_directories([tmp_path / "full", tmp_path / "empty"])
    assert (full.path, empty.path) == (str(tmp_path / "full"), str(tmp_path / "empty"))
    assert full.packages == {"nvidia-ml-py": "13.580", "torch": "2.11.0"}
    assert empty.packages == {}
