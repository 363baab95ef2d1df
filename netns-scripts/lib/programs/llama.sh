# shellcheck shell=bash
# llama.cpp's RPC server: a machine that computes for others. Of the source that llama-cpp-python
# has on PyPI, only what that needs is built.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[llama]="python3 cc c++"
PACKAGES[llama]="python3 python3-venv build-essential"
LEAST[llama]=30000000
LLAMA_VERSION=0.3.36
FOLDER_OF_LLAMA=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# build_llama FOLDER: for any processor, since a result is compared.
build_llama() {
    local source=$1/source
    has_library cmake || die "cmake cannot be had"
    rm -rf -- "$1"
    mkdir -p -- "$source"
    "$VENV/bin/pip" download --quiet --no-deps --no-binary llama-cpp-python -d "$1" "llama-cpp-python==$LLAMA_VERSION" >&2 ||
        die "llama.cpp's source cannot be had"
    tar -xzf "$1"/*.tar.gz -C "$source" --strip-components 3 --wildcards '*/vendor/llama.cpp/ggml' '*/vendor/llama.cpp/tools/rpc'
    # What is built there alone asks for it, and the archive does not have it.
    touch "$source/ggml/ggml.pc.in"
    "$VENV/bin/cmake" -S "$source/ggml" -B "$1/build" -DGGML_RPC=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_BUILD_TESTS=OFF \
        -DGGML_BUILD_EXAMPLES=OFF >&2
    "$VENV/bin/cmake" --build "$1/build" --target ggml ggml-rpc --parallel "$(nproc)" >&2
    local -a with=(-I "$source/ggml/include" -L "$1/build/src" -L "$1/build/src/ggml-rpc" "-Wl,-rpath,$1/build/src:$1/build/src/ggml-rpc")
    c++ -O1 "${with[@]}" -o "$1/rpc-server" "$source/tools/rpc/rpc-server.cpp" -lggml -lggml-base -pthread >&2
    cc -O1 "${with[@]}" -o "$1/tensors" "$FOLDER_OF_LLAMA/tensors.c" -lggml-rpc -lggml-base >&2
}

program_llama() {
    local folder=$TARGET/programs/llama
    if [[ ! -x $folder/tensors ]]; then build_llama "$folder"; fi
    start 2 "$folder/rpc-server" -H "$HOST2" -p 7740 -t 1
    listening 2 7740
    on 1 "$folder/tensors" "$HOST2:7740"
}
