//! The Debian package on a system with systemd.

use crate::failure::{Failure, Outcome};
use crate::lab::{Lab, quote};
use crate::scenes::{Scene, Setup};

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new(
            "systemd",
            "the package's unit starts, is confined, reloads, is restarted, leaves nothing",
            systemd,
        )
        .with(Setup::System)
        .with_any_card(),
    ]
};

/// Functions of the steps.
const FUNCTIONS: &str = r#"
fail() { echo "$*"; exit 1; }
soon() { local end=$((SECONDS + 60)); until "$@"; do ((SECONDS < end)) || fail "never true: $*"; sleep 0.2; done; }
main_pid() { systemctl show -p MainPID --value prp-routed; }
has() { [[ $(sed -n "s/^$1:[[:space:]]*//p" "/proc/$(main_pid)/status") == $2 ]] || fail "$1 is not $2"; }
# Whether the service greet answers over PRP, with the number of its process.
greeting() {
    timeout 20 prp cat -q here 7100 </dev/null >/tmp/heard 2>&1 || true
    [[ $(</tmp/heard) == "greeting $(systemctl show -p MainPID --value greet)" ]]
}
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
"#;

/// Steps, and what each is for.
const STEPS: [(&str, &str); 8] = [
    (
        "the unit starts",
        r#"
modprobe veth
ip link add eth0 address 02:00:00:00:00:01 type veth peer name eth1
ip link set eth0 up; ip link set eth1 up; ip link set lo up
printf 'self 1\n1 02:00:00:00:00:01 eth0 here\n2 02:00:00:00:00:02 eth0 there\n' >/etc/prphosts
systemctl enable --now prp-routed
systemctl is-active prp-routed
[[ $(systemctl show -p NRestarts --value prp-routed) == 0 ]] || fail "it had to be started again"
as_nobody prp routed status
"#,
    ),
    (
        "it is confined as its file says",
        r#"
[[ $(ps -o user= -p "$(main_pid)" | tr -d ' ') == prp-rou* ]] || fail "user: $(ps -o user= -p "$(main_pid)")"
has CapBnd 0000000000002000
has CapEff 0000000000002000
has NoNewPrivs 1
has Seccomp 2
grep -q '^[^ ]* [^ ]* [^ ]* / / ro[, ]' "/proc/$(main_pid)/mountinfo" || fail "its root can be written to"
[[ $(stat -c '%U %a' /run/prp) == 'prp-routed 755' ]] || fail "/run/prp: $(stat -c '%U %a' /run/prp)"
"#,
    ),
    (
        "it reads prphosts again, and survives a mistake in it",
        r#"
pid=$(main_pid)
echo '3 via 2 far' >>/etc/prphosts
systemctl reload prp-routed
knows() { prp routed status --json | grep -q "\"nodes\": *$1"; }
soon knows 3
cp /etc/prphosts /tmp/prphosts
echo 'mistake' >>/etc/prphosts
systemctl reload prp-routed || true
soon sh -c 'prp routed status --json | grep -q "last_error\": *\""'
systemctl is-active prp-routed
cp /tmp/prphosts /etc/prphosts
systemctl reload prp-routed
[[ $(main_pid) == "$pid" ]] || fail "it is another process"
"#,
    ),
    (
        "it comes back if it is killed, and if it hangs",
        r#"
restarted() { [[ $(systemctl show -p NRestarts --value prp-routed) == "$1" ]] && prp routed status; }
kill -KILL "$(main_pid)"
soon restarted 1
kill -STOP "$(main_pid)"
soon restarted 2
journalctl -u prp-routed | grep -i watchdog
"#,
    ),
    (
        "an ordinary user runs programs by their capabilities",
        r#"
[[ $(getcap /usr/bin/prp) == *cap_net_raw* ]] || fail "no capability"
as_nobody prp cat -lq 7000 </dev/null >/tmp/got &
soon grep -q '@prp/1/7000$' /proc/net/unix
as_nobody sh -c 'echo through | prp cat -q here 7000'
wait $!
[[ $(</tmp/got) == through ]] || fail "got: $(</tmp/got)"
"#,
    ),
    (
        "a service goes by prp run, and as before",
        r#"
cat >/etc/systemd/system/greet.service <<'UNIT'
[Service]
User=nobody
ExecStart=/usr/bin/perl -MSocket -e 'socket S, AF_INET, SOCK_STREAM, 0; setsockopt S, SOL_SOCKET, SO_REUSEADDR, 1; bind S, sockaddr_in 7100, INADDR_ANY or die; listen S, 8 or die; while (accept C, S) { syswrite C, "greeting $$$$\\n"; close C }'
UNIT
prp run enable --require greet | grep '^/etc/systemd/system/greet.service.d/prp-run.conf$'
systemctl start greet
soon greeting
prp run disable greet
systemctl restart greet
soon sh -c '! grep -q "@prp/1/7100$" /proc/net/unix'
[[ ! -e /etc/systemd/system/greet.service.d ]] || fail "a folder is left"
"#,
    ),
    (
        "a service in which prp run cannot work is refused until what is missing is there",
        r#"
printf 'NoNewPrivileges=yes\n' >>/etc/systemd/system/greet.service
! prp run enable greet 2>/tmp/said || fail "it takes a unit in which it cannot work"
grep 'greet.service:4: NoNewPrivileges=yes: .*add AmbientCapabilities=CAP_NET_RAW$' /tmp/said
printf 'AmbientCapabilities=CAP_NET_RAW\n' >>/etc/systemd/system/greet.service
prp run enable --require greet
systemctl restart greet
soon greeting
prp run disable greet
systemctl stop greet
rm /etc/systemd/system/greet.service
"#,
    ),
    (
        "nothing is left of it",
        r#"
dpkg -P prp
! systemctl is-active prp-routed || fail "it still runs"
! systemctl cat prp-routed 2>/dev/null || fail "its unit is there"
for path in /usr/bin/prp /usr/bin/prp-routed /etc/prphosts /etc/prp-routed.toml /run/prp \
    /usr/share/doc/prp /etc/systemd/system/multi-user.target.wants/prp-routed.service; do
    [[ ! -e $path && ! -L $path ]] || fail "$path is there"
done
! getent passwd prp-routed || fail "its user is there"
"#,
    ),
];

fn systemd(lab: &mut Lab) -> Outcome {
    let package = lab.package().ok_or_else(|| Failure::new("no package"))?;
    let install = format!("dpkg -i {}", quote(&format!("/host{}", package.display())));
    lab.beside(1, &format!("{FUNCTIONS}\n{install}\ngetent passwd prp-routed"))?;
    for (what, script) in STEPS {
        let done = lab.beside(1, &format!("# {what}\n{FUNCTIONS}\n{script}"));
        done.map_err(|reason| Failure::new(format!("{what}: {reason}")))?;
    }
    Ok(())
}
