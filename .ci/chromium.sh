#!/bin/sh
# Tests of the report drive a real Chromium: install it where the system's package manager may be used, else say in one line how.
set -eu
if command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null && exit 0
fi
echo "Tests marked browser need Chromium and its driver: install them (Debian: sudo apt-get install chromium chromium-driver), else they are skipped." >&2
exit 1
