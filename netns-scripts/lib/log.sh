# shellcheck shell=bash
# One line for each thing said, and the three ways to end.

say() {
    printf 'topo: %s\n' "$*"
}

warn() {
    printf 'topo: %s\n' "$*" >&2
}

die() {
    warn "$*"
    exit 1
}

usage() {
    warn "$* (topo help tells how)"
    exit 2
}

# Names the package to install, since the tools' names and the packages' names differ.
need_tools() {
    # ip and tc live in sbin, which Debian leaves out of an ordinary user's PATH.
    PATH=$PATH:/usr/sbin:/sbin
    local tool package
    for tool in "$@"; do
        # The second question too, since type also answers with a file that cannot be run.
        [[ ! -x $(type -P "$tool") ]] || continue
        case $tool in
        ip | tc) package=iproute2 ;;
        find) package=findutils ;;
        *) package=util-linux ;;
        esac
        die "'$tool' is missing: apt-get install $package"
    done
}
