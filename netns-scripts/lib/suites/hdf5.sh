# shellcheck shell=bash
# The tests of parallel HDF5, from Debian's source package. A script that sources this has $BIN and
# $PEERS.
# shellcheck disable=SC2034 # the script that sources this has them

# The release of Debian, which need not be this machine's.
RELEASE=trixie
SUITE="HDF5 of Debian $RELEASE"
RANKS=2,4
MODULES="t_mpi t_pshutdown t_prestart t_init_term t_pread t_pflush2 t_select_io_dset t_shapesame t_vfd testphdf5
t_filters_parallel t_bigio t_pmulti_dset t_subfiling_vfd t_cache t_cache_image"
SHORT="t_mpi t_prestart t_pflush2 t_select_io_dset t_vfd testphdf5"
# Programs that do not run here, and why.
declare -A LEFT_OUT=(
    [t_2Gio]="several GiB of memory and of files; t_bigio crosses the same limit of counts, lowered"
)
# Programs that read what another wrote in the same folder. The other's end is not looked at:
# t_pflush1 leaves without MPI_Finalize on purpose.
declare -A AFTER=([t_prestart]=t_pshutdown [t_pflush2]=t_pflush1)

# fetch: downloads the source from where this machine has its packages, with package lists of its
# own.
fetch() {
    local site key=/usr/share/keyrings/debian-archive-keyring.gpg
    has apt-get && [[ -e $key ]] || return 1
    # shellcheck disable=SC2016 # apt's variable
    site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' |
        awk '/\/debian\/*$/ && !site { site = $0 } END { print site }')
    [[ -n $site ]] || return 1
    mkdir -p -- "$HOME_OF/apt/lists/partial" "$HOME_OF/apt/cache/archives/partial"
    echo "deb-src [signed-by=$key] $site $RELEASE main" >"$HOME_OF/apt/sources.list"
    local -a apt=(apt-get -qq -o "Dir::Etc::SourceList=$HOME_OF/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$HOME_OF/apt/lists" -o "Dir::Cache=$HOME_OF/apt/cache" -o APT::Sandbox::User=root
        -o Acquire::Retries=2)
    "${apt[@]}" update && (cd "$HOME_OF/apt" && "${apt[@]}" source --download-only --tar-only hdf5) &&
        tar -xzf "$HOME_OF"/apt/hdf5_*.orig.tar.gz -C "$HOME_OF" --strip-components 1
}

# compile: the library, without what of it is not parallel, and the programs of its parallel tests.
compile() {
    local -a programs
    read -r -d '' -a programs <<<"$MODULES ${AFTER[*]}" || true
    mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
    cd "$HOME_OF" &&
        CC=$BIN/prp-mpicc CFLAGS="-O1 -g0 -w" ./configure --enable-parallel --enable-subfiling-vfd --disable-shared \
            --disable-hl --disable-tools &&
        make -j "$(nproc)" -C src libhdf5.la &&
        make -j "$(nproc)" -C test libh5test.la &&
        make -j "$(nproc)" -C testpar "${programs[@]}"
}

# prepare_suite: fetches and builds it; fails if it cannot be had.
prepare_suite() {
    HOME_OF=$PEERS/hdf5-$RELEASE
    [[ ! -e $HOME_OF/compiled ]] || return 0
    rm -rf -- "$HOME_OF"
    mkdir -p -- "$HOME_OF"
    fetch || return 1
    has cc && has make || install_packages build-essential || warn "cc or make is missing"
    # Without it the filter that most datasets have is not tested.
    [[ -e /usr/include/zlib.h ]] || install_packages zlib1g-dev || warn "zlib1g-dev is missing"
    say "$SUITE is compiled: $(cd "$HOME_OF/apt" && echo hdf5_*.orig.tar.gz)"
    (compile) >"$HOME_OF/log" 2>&1 </dev/null || {
        tail -n 5 "$HOME_OF/log" >&2
        die "$SUITE does not compile: see $HOME_OF/log"
    }
    touch "$HOME_OF/compiled"
}

# run_module RANKS PROGRAM: one program on this number of ranks, in an empty folder. The limit is
# for t_cache_image: all its calls are small and collective, and wait where processors are shared.
run_module() {
    local before=${AFTER[$2]-}
    rm -rf -- "$HOME_OF/run"
    mkdir -- "$HOME_OF/run"
    cd "$HOME_OF/run" || return
    export srcdir=$HOME_OF/testpar HDF5_ALARM_SECONDS=1800
    [[ -z $before ]] || launch_ranks 1800 "$1" "$HOME_OF/testpar/$before" || true
    launch_ranks 1800 "$1" "$HOME_OF/testpar/$2"
}

# summary LOG: what is said of a program that has passed.
summary() {
    grep -m 1 -o 'Need at least.*processes' "$1" || echo "$(grep -cE 'Testing|Test #|Proc 0: \*\*\*' "$1" || true) tests"
}

# reasons LOG: the tests that failed.
reasons() {
    grep -E 'FAILED|\*\*\*.*(ERROR|failed)|VRFY|ended the job|wait for each other' "$1"
}
