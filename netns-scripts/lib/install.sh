# shellcheck shell=bash
# Debian packages: which of them has a tool, and installing it where that is possible.

# package_of TOOL: the tools' names and the packages' names differ.
package_of() {
    case $1 in
    ip | tc | ss) echo iproute2 ;;
    ethtool) echo ethtool ;;
    nft) echo nftables ;;
    dumpcap | tshark) echo tshark ;;
    find) echo findutils ;;
    # Not gcc alone: without recommended packages it lacks the C library's files, and cannot link.
    cc) echo build-essential ;;
    python3) echo python3-minimal ;;
    sha256sum | head | df) echo coreutils ;;
    openssl) echo openssl ;;
    rust-src) echo rust-src ;;
    qemu-system-x86_64) echo qemu-system-x86 ;;
    depmod) echo kmod ;;
    xz) echo xz-utils ;;
    dpkg-deb) echo dpkg ;;
    apt-get) echo apt ;;
    *) echo util-linux ;;
    esac
}

# has TOOL: ip and tc are in sbin, which Debian does not put into an ordinary user's PATH.
has() {
    PATH=$PATH:/usr/sbin:/sbin
    # The second test as well, since type also finds a file that cannot be run.
    [[ -x $(type -P "$1") ]]
}

# need_tools TOOL...: names the package of the first that is missing.
need_tools() {
    local tool
    for tool in "$@"; do
        has "$tool" || die "'$tool' is missing: apt-get install $(package_of "$tool")"
    done
}

# require TOOL...: installs the packages of missing tools, or fails with the command that would
# install them.
require() {
    local tool
    local -a packages=()
    for tool in "$@"; do
        has "$tool" || packages+=("$(package_of "$tool")")
    done
    ((${#packages[@]})) || return 0
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
    install_packages "${packages[@]}" || die "missing, and not to be installed from here: sudo apt-get install ${packages[*]}"
    for tool in "$@"; do
        has "$tool" || die "'$tool' is still missing after apt-get install ${packages[*]}"
    done
}

# Rust can be installed from several sources, so the script leaves it to the user.
require_rust() {
    has cargo || die "cargo is missing: install Rust, from https://rustup.rs or with 'apt-get install cargo'" \
        "(1.95 or later is needed)"
    cargo --version >/dev/null 2>&1 || die "cargo does not run: $(cargo --version 2>&1 | head -n 1)"
}

# install_packages PACKAGE...: as root, or by sudo without a password; fails if neither is possible,
# and where PRP_INSTALL=no.
install_packages() {
    local -a as=()
    [[ ${PRP_INSTALL-} != no ]] || return 1
    has apt-get || return 1
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || return 1
        as=(sudo -n)
    fi
    say "installing $*"
    local -a apt=("${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=2)
    # A new machine has no package lists, and old lists name packages that no longer exist.
    "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null 2>&1 ||
        { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"; } >/dev/null 2>&1
}
