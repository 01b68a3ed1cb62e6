"""Policies of a workspace: checkpoints of the reader, directories of weights, names at a server."""

from __future__ import annotations

import json

import pytest

from jobs.handoff.command import worker_command
from jobs.handoff.policies import NoCheckpointError, UnknownPolicyError, current_policy, find_policy
from jobs.handoff.rollouts import engine_version, sampling_settings, worker_settings
from schemas.policy import Policy
from udfs.reader.checkpoint import base_checkpoint

SERVED = ("rollout.engine=openai", "rollout.model=m-1", "train.trainer=none")


def directory(folder, weights=b"w"):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["X"]}))
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def vllm(folder):
    return ("rollout.engine=vllm", f"rollout.model={folder}", "train.trainer=none")


def test_the_reader_is_the_policy_of_a_fresh_workspace(make_context):
    ctx = make_context(with_spark=False)
    found = find_policy(ctx, current_policy(ctx))
    assert found == Policy(engine="reader", policy_id=base_checkpoint().policy_id, policy_version=0)
    assert engine_version(found) == "reader@1"
    # what a round's fingerprint and its hand-off run have always held: older rounds stay what they are
    assert sampling_settings(ctx.config.rollout) == {"temperature": 1.0, "max_response_tokens": 128, "passages_per_question": 5}
    assert set(worker_settings({}, found)) == {"vocab"}


def test_weights_are_named_by_their_bytes_and_counted_as_they_come(make_context, tmp_path):
    first, second, copy = directory(tmp_path / "a"), directory(tmp_path / "b", b"v"), directory(tmp_path / "c")
    ctx = make_context(*vllm(first), with_spark=False)
    one = find_policy(ctx, current_policy(ctx))
    assert (one.engine, one.model, one.policy_version) == ("vllm", str(first), 0)
    assert worker_settings(sampling_settings(ctx.config.rollout), one)["model"] == str(first)
    two = find_policy(later := make_context(*vllm(second), with_spark=False), current_policy(later))
    assert (two.policy_version, two.policy_id != one.policy_id) == (1, True)
    again = make_context(*vllm(copy), with_spark=False)
    assert find_policy(again, current_policy(again)) == one, "the same bytes elsewhere are the same weights"


def test_a_model_at_a_server_is_named_by_its_name(make_context):
    ctx = make_context(*SERVED, "rollout.top_p=0.9", with_spark=False)
    found = find_policy(ctx, current_policy(ctx))
    assert (found.engine, found.model, found.sha256) == ("openai", "m-1", None)
    assert sampling_settings(ctx.config.rollout)["top_p"] == 0.9
    assert engine_version(found) == "openai"


def test_what_is_no_checkpoint_is_refused(make_context, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoCheckpointError, match=r"no directory with a config\.json"):
        current_policy(make_context(*vllm(tmp_path / "empty"), with_spark=False))
    with pytest.raises(UnknownPolicyError, match="policy nobody"):
        find_policy(make_context(with_spark=False), "nobody")


def test_workers_are_told_the_options_of_their_engine():
    command = worker_command("", "run", 2, "w", {"base_url": "http://127.0.0.1:1/v1", "in_flight": 8})
    assert command[-4:] == ["--engine-option", "base_url=http://127.0.0.1:1/v1", "--engine-option", "in_flight=8"]
