# shellcheck shell=bash
# Programs of this checkout that topo runs.

# The folder of this checkout's programs, whether they have been built or not.
programs_of_checkout() {
    local target=${CARGO_TARGET_DIR:-$here/../target}
    [[ $target == /* ]] || target=$PWD/$target
    realpath -m -- "$target/release"
}

# find_program VARIABLE PACKAGE NAME [OTHERWISE]: finds PROGRAM, which VARIABLE names. Otherwise it
# is the one of this checkout, which is built if necessary. OTHERWISE is a hint for the error
# message.
find_program() {
    local variable=$1 package=$2 name=$3 otherwise=${4-} target=${CARGO_TARGET_DIR:-$here/../target}
    PROGRAM=${!variable-}
    if [[ -n $PROGRAM ]]; then
        [[ -x $PROGRAM ]] || die "$variable is $PROGRAM, and there is no such program"
        return
    fi
    PROGRAM=$target/release/$name
    local -a build=(cargo build --release -p "$package" --bin "$name")
    # cargo builds it again if its source has changed. Without cargo an existing program is used.
    if has cargo && cargo --version >/dev/null 2>&1 && [[ -w $target || ! -e $target ]]; then
        [[ -x $PROGRAM ]] || say "building $name (the first time takes some minutes)"
        "${build[@]}" --quiet --manifest-path "$here/../Cargo.toml" --target-dir "$target" ||
            die "cannot build $name: see above$otherwise"
    fi
    [[ -x $PROGRAM ]] || die "$name is missing: '${build[*]}', or name one in $variable$otherwise"
}
