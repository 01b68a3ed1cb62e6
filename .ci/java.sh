#!/bin/sh
# Spark 4 needs Java 17 or newer: install it where the system's package manager may be used, else say in one line how.
set -eu
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if command -v "$java" >/dev/null 2>&1; then
    major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ] && exit 0
    echo "Java ${major:-?} is too old for Spark 4; looking for a newer one." >&2
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null && exit 0
fi
echo "Java 17 or newer is needed: install it (Debian/Ubuntu: sudo apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME." >&2
exit 1
