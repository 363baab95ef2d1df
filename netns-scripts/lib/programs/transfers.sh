# shellcheck shell=bash
# Programs that copy files: curl, rsync and git, each with a server of its own.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[curl]="curl python3 openssl"
PACKAGES[curl]="curl python3 openssl"
LEAST[curl]=16000000
TOOLS[rsync]="rsync openssl"
PACKAGES[rsync]="rsync openssl"
LEAST[rsync]=8000000
TOOLS[git]="git openssl"
PACKAGES[git]="git openssl"
LEAST[git]=1000000
TOOLS[lighttpd]="lighttpd wrk curl openssl"
PACKAGES[lighttpd]="lighttpd wrk curl openssl"
LEAST[lighttpd]=8000000

program_curl() {
    local folder=$WORK/curl
    mkdir -p "$folder"
    noise 8 "$folder/large"
    start 2 "$PYTHON" -m http.server -d "$folder" --bind :: 7081
    listening 2 7081
    on 1 curl -sS "http://$HOST2:7081/large" | checksum
    on 1 curl -sS --parallel "http://$HOST2:7081/large" -o "$folder/one.$PROTOCOL" \
        "http://$HOST2:7081/large" -o "$folder/two.$PROTOCOL"
    cat "$folder/one.$PROTOCOL" "$folder/two.$PROTOCOL" | checksum
    on 1 curl -sS -o /dev/null -w '%{http_code}\n' "http://$HOST2:7081/nothing"
    on 1 curl -sS "http://$HOST2:7099/" 2>/dev/null || echo "status $?"
}

# tree FOLDER: its files and their content.
tree() {
    (cd "$1" && find . -type f | sort | xargs sha256sum)
}

program_rsync() {
    local folder=$WORK/rsync at
    mkdir -p "$folder/from/deep" "$folder/to.$PROTOCOL"
    noise 8 "$folder/from/large"
    for ((at = 0; at < 200; at++)); do echo "$at" >"$folder/from/deep/$at"; done
    cat >"$folder/rsyncd.conf" <<TEXT
use chroot = no
pid file = $folder/pid.$PROTOCOL
log file = $folder/log
[from]
path = $folder/from
[to]
path = $folder/to.$PROTOCOL
read only = no
uid = $(id -u)
gid = $(id -g)
TEXT
    start 2 rsync --daemon --no-detach --port 7873 --config "$folder/rsyncd.conf"
    listening 2 7873
    on 1 rsync -a "rsync://$HOST2:7873/from/" "$folder/copy.$PROTOCOL"
    tree "$folder/copy.$PROTOCOL" | checksum
    # A part that differs, and one that is gone.
    head -c 5M "$folder/from/large" >"$folder/copy.$PROTOCOL/large"
    rm "$folder/copy.$PROTOCOL/deep/7"
    on 1 rsync -a --delete "$folder/copy.$PROTOCOL/" "rsync://$HOST2:7873/to"
    tree "$folder/to.$PROTOCOL" | checksum
}

program_git() {
    local folder=$WORK/git
    [[ -d $folder/all/repository.git ]] || {
        mkdir -p "$folder/all"
        git init -q -b main "$folder/work"
        noise 2 "$folder/work/large"
        git -C "$folder/work" add large
        GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' \
            git -C "$folder/work" -c user.name=x -c user.email=x@x commit -q -m one
        git clone -q --bare "$folder/work" "$folder/all/repository.git"
    }
    start 2 git daemon --reuseaddr --export-all --enable=receive-pack --base-path="$folder/all" \
        --listen=0.0.0.0 --port=7418 "$folder/all"
    listening 2 7418
    on 1 git clone -q "git://$HOST2:7418/repository.git" "$folder/copy.$PROTOCOL"
    git -C "$folder/copy.$PROTOCOL" rev-parse HEAD
    git -C "$folder/copy.$PROTOCOL" fsck --full
    on 1 git -C "$folder/copy.$PROTOCOL" push -q origin "HEAD:refs/heads/of-$PROTOCOL"
    [[ $(git -C "$folder/all/repository.git" rev-parse "of-$PROTOCOL") == "$(git -C "$folder/work" rev-parse HEAD)" ]] &&
        echo "pushed"
}

program_lighttpd() {
    local folder=$WORK/lighttpd
    mkdir -p "$folder/files"
    noise 8 "$folder/files/large"
    echo small >"$folder/files/small"
    cat >"$folder/lighttpd.conf" <<TEXT
server.document-root = "$folder/files"
server.port = 7082
server.errorlog = "$folder/errors"
server.max-keep-alive-requests = 1000000
TEXT
    start 2 lighttpd -D -f "$folder/lighttpd.conf"
    listening 2 7082
    on 1 curl -sS "http://$HOST2:7082/large" | checksum
    on 1 wrk -t 2 -c 16 -d 2s "http://$HOST2:7082/small" | grep -E 'Socket errors|Non-2xx' || echo "no request failed"
}
