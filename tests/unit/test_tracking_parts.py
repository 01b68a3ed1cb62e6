"""Parts of tracking that speak to no store: addresses, parameters, sample rows."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.config import load_config
from jobs.tracking.destination import TrackingUriError, destination, redacted
from jobs.tracking.params import NAME_LIMIT, VALUE_LIMIT, clean_name, clean_value, flat_params
from jobs.tracking.samples import as_lines, as_table, sample_rows
from jobs.workspace import Workspace


def where(uri, root):
    return destination(load_config().track.model_copy(update={"uri": uri}), Workspace(root))


def test_without_a_uri_the_store_is_the_workspaces_own(tmp_path):
    found = where("", tmp_path)
    assert found.uri == f"sqlite:///{tmp_path}/mlflow.db"
    assert found.artifacts == (tmp_path / "mlartifacts").as_uri()
    # The ledger knows it by the same key wherever the workspace lies.
    assert found.key == where("", tmp_path / "other").key == ""


def test_credentials_of_a_server_are_used_and_never_shown(tmp_path):
    found = where("https://me:s3%40cret@tracking.example:8443/mlflow", tmp_path)
    assert (found.uri, found.user, found.password) == ("https://tracking.example:8443/mlflow", "me", "s3@cret")
    assert found.artifacts is None
    assert "s3" not in repr(found)
    assert found.clean("failed for https://me:s3%40cret@tracking.example and s3@cret") == "failed for https://***@tracking.example and ***"
    assert found.key == where("https://tracking.example:8443/mlflow", tmp_path).key


def test_a_database_is_asked_at_its_address_first_and_shown_without_password(tmp_path):
    found = where("postgresql+psycopg2://me:s3cret@db.example/rounds", tmp_path)
    assert (found.address, found.shown) == (("db.example", 5432), "postgresql+psycopg2://db.example/rounds")
    assert where("mysql://db.example:1234/x", tmp_path).address == ("db.example", 1234)
    assert where("sqlite:////data/x.db", tmp_path).address is None


@pytest.mark.parametrize(
    "uri",
    [
        "./mlruns",
        "file:///data/mlruns",
        "ftp://x",
        "http://",
        "http://[x",
        "http://x:port",
        "http://a\nb",
        "http://me:s3cret@a b",
        "$(touch x)",
    ],
)
def test_an_address_that_mlflow_cannot_use_is_wrong_use_and_hides_what_is_secret(uri, tmp_path):
    with pytest.raises(TrackingUriError, match=r"track\.uri") as raised:
        where(uri, tmp_path)
    assert raised.value.exit_code == 2
    assert "s3cret" not in str(raised.value)


def test_a_workspace_whose_path_is_no_part_of_a_uri_is_refused(tmp_path):
    with pytest.raises(TrackingUriError, match=r"set track\.uri"):
        where("", tmp_path / "what?")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("http://u:p@h/x and https://q@z", "http://***@h/x and https://***@z"),
        ("postgresql://u:p@ss@h/db", "postgresql://***@h/db"),
        ("mail me@example.org", "mail me@example.org"),
        ("http://h/a@b", "http://h/a@b"),
    ],
)
def test_the_user_part_of_every_uri_is_replaced(text, wanted):
    assert redacted(text) == wanted


def test_the_settings_that_are_printed_hide_credentials(tmp_path, capsys):
    from jobs.cli.main import run

    Workspace.init(tmp_path / "ws")
    flags = ["--set", "track.uri=https://me:s3cret@tracking.example/x", "--set", "publish.remote=ssh://me:s3cret@store.example/x"]
    assert run(["conf", "-w", str(tmp_path / "ws"), "--json", *flags]) == 0
    out, err = capsys.readouterr()
    assert "s3cret" not in out + err
    assert json.loads(out.splitlines()[-1])["track"]["uri"] == "https://***@tracking.example/x"


def test_settings_become_flat_texts_without_machines_and_secrets():
    settings = {
        "plan": {"band": [0.1, 0.9], "none": None, "deep": {"on": True, "empty": {}}}, "publish": {"shard_mb": 256, "remote": "s3://u:p@b"},
        "spark": {"conf": {"key": "secret"}}, "track": {"uri": "x"}, "work": {"workers": 2}, "maintain": {"keep_hours": 1},
    }  # fmt: skip
    assert flat_params(settings) == {
        "plan.band": "[0.1,0.9]", "plan.none": "null", "plan.deep.on": "true", "plan.deep.empty": "{}", "publish.shard_mb": "256"
    }  # fmt: skip


def test_long_values_keep_their_hash_and_the_limit():
    first, second = clean_value("a" * 7000 + "b"), clean_value("a" * 7000 + "c")
    assert len(first) == len(second) == VALUE_LIMIT
    assert first != second
    assert clean_value("a" * VALUE_LIMIT) == "a" * VALUE_LIMIT
    assert clean_value("x\x00\ud800") == "x\\x00\\ud800"


@pytest.mark.parametrize("name", ["a@b", "../x", "/x", "a//b", "x" * 300, "ä", "a\nb", "."])
def test_names_that_mlflow_refuses_become_names_that_it_takes(name):
    from mlflow.utils.validation import _validate_param_name

    cleaned = clean_name(name)
    _validate_param_name(cleaned)
    assert len(cleaned) <= NAME_LIMIT
    assert cleaned != clean_name(name + "_")


def test_plain_names_stay():
    assert clean_name("plan.eval_prompts") == "plan.eval_prompts"


@pytest.fixture
def files(tmp_path):
    for n in range(4):
        pq.write_table(pa.table({"id": [f"{n}-{i}" for i in range(10)]}), tmp_path / f"{n}.parquet", row_group_size=3)
    return [tmp_path / f"{n}.parquet" for n in range(4)]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [(0, []), (1, ["0-0"]), (2, ["0-0", "2-0"]), (5, ["0-0", "0-1", "1-0", "2-0", "3-0"]), (4, ["0-0", "1-0", "2-0", "3-0"])],
)
def test_sample_rows_are_the_first_of_files_evenly_spaced(files, wanted, ids):
    assert [row["id"] for row in sample_rows(files, wanted)] == ids


def test_a_sample_of_nothing_is_nothing(tmp_path):
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "x.parquet")
    assert sample_rows([], 5) == []
    assert sample_rows([tmp_path / "x.parquet"], 5) == []


def test_samples_are_cut_escaped_and_always_json():
    rows = [{"prompt": "é\u202e<b>" + "x" * 5000, "k": math.nan, "options": ["a", None], "n": 3}]
    line = as_lines(rows)
    assert line.isascii()
    assert json.loads(line) == {
        "prompt": "é\u202e<b>" + "x" * 1995 + " ... (3005 characters more)",
        "k": None,
        "options": ["a", None],
        "n": 3,
    }
    table = json.loads(as_table(rows, ["prompt", "k", "options", "n", "missing"]))
    assert table["data"] == [["é\\u202e<b>" + "x" * 295 + " …", None, '["a", null]', 3, None]]
