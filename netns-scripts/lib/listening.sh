# shellcheck shell=bash

# await_listening FILE: waits until a program writes to FILE that it listens.
await_listening() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        # The whole line, which may be written in parts.
        ! grep -qs listening "$1" || [[ -n $(tail -c 1 "$1") ]] || return 0
        sleep 0.02
    done
    die "no listener within ten seconds: $(tail -n 1 "$1")"
}
