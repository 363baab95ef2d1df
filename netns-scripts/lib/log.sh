# shellcheck shell=bash
# One line for each thing said, and the three kinds of end. SPEAKER is the script's name.

say() {
    printf '%s: %s\n' "${SPEAKER:-topo}" "$*"
}

warn() {
    printf '%s: %s\n' "${SPEAKER:-topo}" "$*" >&2
}

die() {
    warn "$*"
    exit 1
}

usage() {
    warn "$* (${SPEAKER:-topo} help tells how)"
    exit 2
}
