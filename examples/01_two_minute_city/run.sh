#!/usr/bin/env bash
# The first minute with a city, command by command, in a temporary folder that is removed at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/../../.venv/bin" ] && PATH="$(cd "$here/../../.venv/bin" && pwd):$PATH"
unset GC_CITY TMUX TMUX_PANE

city=$(mktemp -d)
cp "$here/city.toml" "$city"
cd "$city"

leave() {
    gc stop >/dev/null 2>&1 || true
    cd / && rm -rf "$city"
}
trap leave EXIT

run() {
    echo
    echo "\$ $*"
    "$@"
}

# Ask again until the line of a session holds a text, 20 seconds at most.
until_shown() { # SESSION TEXT
    for _ in $(seq 100); do
        gc status "$1" | grep -q -- "$2" && return
        sleep 0.2
    done
    echo "expected $1 to show '$2':" >&2
    gc status >&2
    return 1
}

run gc config validate
run gc start
run gc status

echo
echo "Five quiet seconds later:"
until_shown mayor "reason=idle"
run gc status
run gc why mayor

run gc wake mayor
run gc sling worker "count the beans"
until_shown worker "awake"
run gc status
until_shown worker "reason=idle"
run gc events
run gc stop
