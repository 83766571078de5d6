"""side_by_side: where nobody may share."""

from assay.device.worker import side_by_side as neighbours


class TestWidth:
    def test_is_more_than_one_where_contexts_are_apart(self, monkeypatch, tmp_path):
        monkeypatch.setenv(neighbours.MPS_VARIABLE, str(tmp_path))
        assert neighbours.width() == neighbours.SIDE_BY_SIDE == 3

    def test_is_one_under_a_server_that_they_share(self, monkeypatch, tmp_path):
        (tmp_path / "control").touch()
        monkeypatch.setenv(neighbours.MPS_VARIABLE, str(tmp_path))
        assert neighbours.width() == 1
