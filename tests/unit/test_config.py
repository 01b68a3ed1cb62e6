from __future__ import annotations

import pytest

from jobs.config import ConfigError, load_config
from jobs.workspace import RemoteWorkspaceError, Workspace
from schemas.errors import NotAWorkspaceError


def test_defaults_are_valid_and_complete():
    config = load_config()
    assert config.plan.band == (0.1, 0.9)
    assert config.rollout.samples == 8


def test_later_layers_win(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    workspace.conf_file.write_text("[plan]\ntrain_prompts = 5\nprobe_prompts = 6\n")
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text("[plan]\ntrain_prompts = 7\neval_prompts = 8\n")
    second.write_text("[plan]\ntrain_prompts = 9\n")
    config = load_config(workspace.root, [first, second], ["plan.eval_prompts=10"])
    assert (config.plan.train_prompts, config.plan.probe_prompts, config.plan.eval_prompts) == (9, 6, 10)


def test_all_errors_at_once_with_file_key_value_and_what_is_allowed(tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[plan]\ntrain_prompts = -1\nband = [0.9, 0.1]\nunknown_key = 1\n[curate]\nkernel = "cuda"\n[nonsense]\nx = 1\n')
    broken = tmp_path / "broken.toml"
    broken.write_text("[plan\n")
    with pytest.raises(ConfigError) as caught:
        load_config(None, [wrong, broken, tmp_path / "absent.toml"], ["rollout.samples=zero", "no_dot=1"])
    message = str(caught.value)
    for part in (
        f"{wrong}: plan.train_prompts = -1: Input should be greater than or equal to 0",
        f"{wrong}: plan.unknown_key: unknown key; allowed: band, eval_collected, eval_fresh, eval_prompts",
        f"{wrong}: curate.kernel = 'cuda': Input should be 'auto', 'numba' or 'numpy'",
        f"{wrong}: nonsense: unknown key; allowed: admit, agent, campaign",
        f"{broken}: Expected",
        f"{tmp_path / 'absent.toml'}: no such file",
        "--set rollout.samples=zero: rollout.samples = 'zero': Input should be a valid integer",
        "--set no_dot=1: expected section.key=value",
    ):
        assert part in message
    assert caught.value.exit_code == 2


def test_cross_field_rules(tmp_path):
    with pytest.raises(ConfigError, match="exceed 1"):
        load_config(overrides=["plan.failed_share=0.6", "plan.unexplored_share=0.6"])
    with pytest.raises(ConfigError, match="band must rise"):
        load_config(overrides=["plan.band=[0.9, 0.1]"])
    with pytest.raises(ConfigError, match=r"min_words \(9\) exceeds max_words \(3\)"):
        load_config(overrides=["curate.min_words=9", "curate.max_words=3"])
    with pytest.raises(ConfigError, match="engine = 'vllm' needs model: a checkpoint's directory"):
        load_config(overrides=["rollout.engine=vllm", "train.trainer=none"])
    with pytest.raises(ConfigError, match="set engine as well"):
        load_config(overrides=["rollout.model=some/model"])
    with pytest.raises(ConfigError, match=r"samples from its whole distribution"):
        load_config(overrides=["rollout.top_p=0.9"])
    with pytest.raises(ConfigError, match=r'set train\.trainer = "none"'):
        load_config(overrides=["rollout.engine=openai", "rollout.model=m"])
    with pytest.raises(ConfigError, match="no engine with options is called reader; allowed: openai, vllm"):
        load_config(overrides=["work.engine_options={reader = {x = 1}}"])


def test_a_section_that_is_no_table_is_one_error_not_a_crash(tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("plan = 3\n")
    with pytest.raises(ConfigError, match="plan"):
        load_config(None, [wrong])


def test_workspaces(tmp_path):
    with pytest.raises(NotAWorkspaceError, match="verilake init"):
        Workspace.open(tmp_path)
    with pytest.raises(RemoteWorkspaceError, match="object stores"):
        Workspace.init("s3a://bucket/ws")
    laid = Workspace.init(tmp_path / "ws")
    laid.conf_file.write_text("# mine\n")
    assert Workspace.init(tmp_path / "ws").conf_file.read_text() == "# mine\n"


def test_tables_within_a_section_are_merged_key_by_key(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[curate.gopher]\nmin_words = 7\n[curate.stop_words]\nfr = ["le"]\n')
    config = load_config(None, [own], ["curate.gopher.max_words=70", 'spark.conf={"a.b" = "c"}'])
    assert (config.curate.gopher.min_words, config.curate.gopher.max_words, config.curate.gopher.min_stop_words) == (7, 70, 2)
    assert (set(config.curate.stop_words), config.spark.conf["a.b"]) == ({"en", "fr"}, "c")
    with pytest.raises(ConfigError, match=r"curate\.gopher\.nope: unknown key; allowed: .*min_words"):
        load_config(overrides=["curate.gopher.nope=1"])
