//! The node's own UDP ports: whether the process that holds one hands on what comes there. While it
//! is stopped no new connection reaches any process of the node.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use prp_device::{NodePort, device_states};
use prp_node::process;
use prp_sock::{HostsFile, Resolver};

use super::finding::{Finding, Kind};

/// What is to be said of those of this machine by `file`.
pub(super) fn findings(file: &HostsFile) -> Vec<Finding> {
    // By that device the probes go, and it is no fault of a process that they are lost.
    if device_states().is_ok_and(|states| states.iter().any(|it| it.loopback && !it.up)) {
        return Vec::new();
    }
    let local = Resolver::by(file.clone()).and_then(|resolver| resolver.local_node());
    let own = local.map_or_else(|_| Vec::new(), |node| file.hosts().udp_addrs(node));
    own.into_iter().filter_map(|(own, _)| of_port(own)).collect()
}

/// A finding about the node's own port `own`: nothing where no process holds it, or this machine
/// does not have its address.
fn of_port(own: SocketAddr) -> Option<Finding> {
    NodePort::is_silent(own).then(|| of_silence(own, PortOwner::of(own)))
}

/// A process that holds a port.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct PortOwner {
    user: Option<u32>,
    /// Its number and program, where the kernel shows its descriptors to this process.
    process: Option<(u32, String)>,
    /// It is stopped: by a signal, or by a debugger.
    is_stopped: bool,
}

impl PortOwner {
    /// The one that has bound `own`.
    fn of(own: SocketAddr) -> Self {
        let table = if own.is_ipv4() { "udp" } else { "udp6" };
        let table = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        let Some((user, inode)) = socket_at(&table.unwrap_or_default(), own) else {
            return Self::default();
        };
        let pid = pid_of_socket(inode);
        let program = pid.map(process::program);
        let is_stopped = pid.is_some_and(process::is_stopped);
        Self { user: Some(user), process: pid.zip(program), is_stopped }
    }
}

/// The user and the number of the socket at `own`, by the kernel's table of UDP sockets. One at all
/// addresses has the port as well.
fn socket_at(table: &str, own: SocketAddr) -> Option<(u32, u64)> {
    table.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let local = address(words.get(1)?)?;
        let is_it = local == own || (local.ip().is_unspecified() && local.port() == own.port());
        is_it.then_some((words.get(7)?.parse().ok()?, words.get(9)?.parse().ok()?))
    })
}

/// An address as that table has it: words of four bytes as the processor has them, in hexadecimal,
/// and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words = ip.as_bytes().chunks(8).map(|word| {
        let word = <&[u8; 8]>::try_from(word).ok()?;
        let word = u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    });
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let ip = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(bytes) => IpAddr::from(Ipv4Addr::from(bytes)),
        Err(_) => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The process that has the socket with this number, if the kernel shows that.
fn pid_of_socket(inode: u64) -> Option<u32> {
    let wanted = format!("socket:[{inode}]");
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let mut fds = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
        let is_it = |fd: fs::DirEntry| {
            fs::read_link(fd.path()).is_ok_and(|target| target.to_str() == Some(&wanted))
        };
        fds.any(is_it).then_some(pid)
    })
}

/// `holder` has the port `own`, and does not answer there.
fn of_silence(own: SocketAddr, holder: PortOwner) -> Finding {
    let port = own.port();
    let PortOwner { user, process, is_stopped } = holder;
    let owner = match (&process, user) {
        (Some((pid, program)), _) => format!("{program} ({pid})"),
        (None, Some(user)) => format!("a process of user {user}"),
        (None, None) => "a process".to_owned(),
    };
    let what = if is_stopped {
        "is stopped (Ctrl-Z, SIGSTOP, a debugger)"
    } else {
        "does not answer: it is stopped or hangs, or is no program of PRP"
    };
    let cause = format!(
        "{owner} holds the node's own UDP port, udp:{own}, and {what}: no new connection gets to any \
         process of the node, and nothing by a router"
    );
    let fix = match process {
        Some((pid, _)) if is_stopped => {
            format!("`kill -CONT {pid}`, or `fg` in its shell, or end it: another process follows")
        }
        Some((pid, _)) => format!(
            "`kill {pid}`: a process of the node takes the port; or if it is to stay, another port for \
             this node in the prphosts of all (udp:{}:PORT)",
            own.ip()
        ),
        None => format!("as root `ss -ulpn 'sport = :{port}'` names it: continue it or end it"),
    };
    Finding::fault(Kind::NodePort, cause, &fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  \
                         timeout inode ref pointer drops\n\
                         2: 0100007F:146F 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        \
                         0 41 2 0000000000000000 0\n\
                         7: 0100007F:146E 00000000:0000 07 00000000:00000000 00:00000000 00000000  1001        \
                         0 42 2 0000000000000000 0\n\
                         9: 00000000:1770 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                         0 43 2 0000000000000000 0\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn socket_at__the_one_at_the_address_or_at_all() {
        let at = |own: &str| socket_at(TABLE, own.parse().expect("an address"));
        assert_eq!(at("127.0.0.1:5230"), Some((1001, 42)));
        assert_eq!(at("127.0.0.2:5230"), None);
        assert_eq!(at("10.0.0.7:6000"), Some((0, 43)));
        let six = address("000000FD000000000000000007000000:146E");
        assert_eq!(six, "[fd00::7]:5230".parse().ok());
        assert_eq!((address("x:1"), address("01:1"), address("0100007F")), (None, None, None));
    }

    #[test]
    fn of_silence__names_the_process_to_continue() {
        let own = "10.0.0.1:5230".parse().expect("an address");
        let process = Some((7, "server".to_owned()));
        let holder = PortOwner { user: Some(1000), process, is_stopped: true };
        let text = of_silence(own, holder.clone()).to_string();
        assert!(text.contains("server (7) holds") && text.contains("`kill -CONT 7`"), "{text}");
        let text = of_silence(own, PortOwner { is_stopped: false, ..holder.clone() }).to_string();
        assert!(text.contains("does not answer") && text.contains("`kill 7`"), "{text}");
        let text = of_silence(own, PortOwner { process: None, ..holder }).to_string();
        assert!(text.contains("user 1000 holds") && text.contains(":5230'` names it"), "{text}");
    }
}
