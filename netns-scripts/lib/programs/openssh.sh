# shellcheck shell=bash
# OpenSSH: a login, files by scp, and a jump over the other node.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[openssh]="sshd ssh scp ssh-keygen openssl"
PACKAGES[openssh]="openssh-server openssh-client openssl"
LEAST[openssh]=100000000

# serve_openssh NODE PORT: takes the key that is made first.
serve_openssh() {
    local folder=$WORK/openssh
    mkdir -p "$folder" /run/sshd
    [[ -s $folder/key ]] || {
        ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
        ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    }
    cat >"$folder/sshd.$2.conf" <<TEXT
Port $2
ListenAddress 0.0.0.0
HostKey $folder/host
PidFile none
AuthorizedKeysFile $folder/key.pub
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
TEXT
    start "$1" "$(type -P sshd)" -D -e -f "$folder/sshd.$2.conf"
    listening "$1" "$2"
}

SSH=(-q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes)

program_openssh() {
    local folder=$WORK/openssh user
    user=$(id -un)
    serve_openssh 2 7022
    serve_openssh 1 7023
    noise 64 "$folder/file"
    on 1 ssh "${SSH[@]}" -i "$folder/key" -p 7022 "$user@$HOST2" 'echo here; exit 7' || echo "status $?"
    on 1 ssh "${SSH[@]}" -i "$folder/key" -p 7022 "$user@$HOST2" cat <"$folder/file" | checksum
    on 1 ssh "${SSH[@]}" -tt -i "$folder/key" -p 7022 "$user@$HOST2" 'test -t 0 && echo terminal' </dev/null | tr -d '\r'
    on 1 scp "${SSH[@]}" -i "$folder/key" -P 7022 "$folder/file" "$user@$HOST2:$folder/copy.$PROTOCOL"
    checksum <"$folder/copy.$PROTOCOL"
    on 1 scp "${SSH[@]}" -i "$folder/key" -P 7022 "$user@$HOST2:$folder/copy.$PROTOCOL" "$folder/back.$PROTOCOL"
    checksum <"$folder/back.$PROTOCOL"
    # From node 1 over node 2 to node 1: the process that is connected to opens a connection.
    cat >"$folder/client.$PROTOCOL" <<TEXT
IdentityFile $folder/key
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
Host jump
    HostName $HOST2
    Port 7022
    User $user
Host last
    HostName $HOST1
    Port 7023
    User $user
    ProxyJump jump
TEXT
    on 1 ssh -F "$folder/client.$PROTOCOL" last 'echo over the other node'
}
