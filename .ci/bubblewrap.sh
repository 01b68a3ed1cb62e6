#!/bin/sh
# Code that a model wrote runs in bubblewrap: install it where the system's package manager may be used, else say in one line how.
# Without it everything else works, and the sandbox falls back to its next tier, or refuses.
set -eu
command -v bwrap >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap >/dev/null 2>&1 ||
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap >/dev/null; }; } && exit 0
fi
echo "bubblewrap is missing: the code sandbox will use a weaker tier. Install it: sudo apt-get install bubblewrap" >&2
