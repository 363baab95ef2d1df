//! The route to a node: whether its router answers, to every echo and once, and how large frames
//! may be.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use prp_proto::addr::{NodeId, UDP_PORTS};
use prp_proto::wire::{Flags, NodeKind, UnreachableCause};

use super::finding::{Finding, Kind};
use super::progress::Progress;
use crate::exit::{Code, Failure};
use crate::probe::{NO_KEY, ProbeReply, Prober};

/// Small echoes: enough to see a loss of 20 % in 99 % of cases, and few enough for a router that
/// answers 1,000 a second.
const ECHOES: u16 = 20;

/// From an echo to the next: an answer comes before, and a second one for the same echo as well.
const PACE: Duration = Duration::from_millis(10);

/// How long the last answers are waited for: a router may answer late on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Echoes of one size that have to be lost for frames of that size to count as lost.
const TRIES: u16 = 3;

/// GSO batches that are sent to have them tested, and the time from one to the next: the device
/// tests them every 250 ms.
const GSO_TESTS: u32 = 3;
const TEST_INTERVAL: Duration = Duration::from_millis(300);

/// Padding of the echoes of a GSO batch: as full segments of an MTU of 1500.
const GSO_PADDING: usize = 1400;

/// Bytes of a VLAN tag (IEEE 802.1Q).
const VLAN_TAG: usize = 4;

/// The headers of IP and UDP.
const IPV4_HEADERS: usize = 20 + 8;
const IPV6_HEADERS: usize = 40 + 8;

/// How long a node is waited for that may have no key, after it has not answered with one.
const KEY_WAIT: Duration = Duration::from_millis(300);

/// What came of some echoes.
#[derive(Debug, Default)]
struct Answers {
    /// For each echo, how often the node itself has answered.
    replies: Vec<u32>,
    /// The answer of another node, and how many there were of those.
    refusal: Option<ProbeReply>,
    refusals: usize,
}

/// The findings about the routes to the nodes called `names`. Of a device with `is_faulty` it has
/// been said that nothing goes by it.
pub(super) fn findings(
    names: &[String],
    hosts: &Path,
    is_faulty: impl Fn(&str) -> bool,
    progress: &Progress,
) -> Vec<Finding> {
    if names.is_empty() {
        return Vec::new();
    }
    let failed = |e: Failure| vec![Finding::fault(Kind::Route, e.text(), "")];
    let mut prober = match Prober::open(Some(hosts)) {
        Ok(prober) => prober,
        Err(e) => return failed(e),
    };
    let of_node =
        |name: &str| examine(&mut prober, name, &is_faulty, progress).unwrap_or_else(failed);
    names.iter().map(String::as_str).flat_map(of_node).collect()
}

fn examine(
    prober: &mut Prober,
    name: &str,
    is_faulty: &impl Fn(&str) -> bool,
    progress: &Progress,
) -> Result<Vec<Finding>, Failure> {
    let node = match prober.resolve(name) {
        Err(e) if e.is(Code::Unreachable) => {
            let (cause, fix) = prober.unknown(name);
            return Ok(vec![Finding::fault(Kind::Route, cause, &fix)]);
        }
        node => node?,
    };
    let title = prober.name(node);
    let mut number = 0;
    progress.show(format_args!("the path to {title}"));
    let small = ask(prober, node, &mut number, ECHOES, 0)?;
    let answered = small.replies.iter().filter(|n| **n > 0).count();
    if answered == 0 && small.refusal.is_none() && prober.device(node).is_some_and(is_faulty) {
        return Ok(Vec::new());
    }
    if answered == 0
        && small.refusal.is_none()
        && !prober.find_without_key(&[node], KEY_WAIT)?.is_empty()
    {
        let cause = format!("{title} {NO_KEY}");
        let fix = "the same key file on all nodes; prp-routed there has to read it as well";
        return Ok(vec![Finding::fault(Kind::NoKey, cause, fix)]);
    }
    if answered == 0 {
        return Ok(vec![unreached(prober, node, small.refusal.as_ref())]);
    }
    let mut found = Vec::new();
    let lost = small.replies.len() - answered;
    if lost > 0 {
        let cause = format!("{lost} of {ECHOES} echoes to {title} were lost, or their answers");
        let fix = "counters of the devices and switches on the path; `prp trace` has its routers";
        found.push(Finding::warning(Kind::Loss, cause, fix));
    }
    if small.replies.iter().any(|n| *n > 1) {
        let cause = format!("{title} has answered echoes twice: two machines have its number");
        let fix = "give each its own number and hardware address; a cloned machine has both";
        found.push(Finding::fault(Kind::DuplicateNode, cause, fix));
    }
    found.extend(of_size(prober, node, &mut number, progress)?);
    if prober.is_udp(node) {
        found.extend(of_gso_batches(prober, node, &mut number)?);
    }
    Ok(found)
}

/// No node has answered, or another one than the node.
fn unreached(prober: &Prober, node: NodeId, refusal: Option<&ProbeReply>) -> Finding {
    let title = prober.name(node);
    let Some(reply) = refusal else {
        if let Some(refusal) = prober.refusal() {
            let fix = "`nft list ruleset`, `tc filter show`, `tc qdisc show` and `ip route` here";
            return Finding::fault(Kind::NotSent, prober.refused(node, refusal), fix);
        }
        return unanswered(prober, node, &title);
    };
    let from = prober.name(reply.from);
    match reply.kind {
        NodeKind::TimeExceeded => {
            let cause = format!("frames to {title} cross too many routers, and end at {from}");
            Finding::fault(
                Kind::Loop,
                cause,
                "`prp hosts check --all DIR`, with the prphosts of all nodes in DIR, finds loops",
            )
        }
        NodeKind::TooBig => {
            let cause =
                format!("even an empty echo to {title} is too large for the link of {from}");
            Finding::fault(Kind::MtuHole, cause, "raise the MTU of that link")
        }
        NodeKind::Unreachable | NodeKind::Echo | NodeKind::EchoReply => {
            let cause = format!("{from} has no route to {title}: {}", reply.unreachable_cause);
            let fix = match reply.unreachable_cause {
                UnreachableCause::NoRoute => {
                    "add a next hop to its prphosts, then `prp routed reload` there; `prp hosts \
                     check --all DIR`, with the prphosts of all nodes in DIR, says which"
                }
                UnreachableCause::DeviceDown(_) | UnreachableCause::RouterDown(_) => {
                    "`prp doctor` and `prp routed neighbours` on that node"
                }
            };
            Finding::fault(Kind::NoRoute, cause, fix)
        }
    }
}

/// No node has answered.
fn unanswered(prober: &Prober, node: NodeId, title: &str) -> Finding {
    let first = prober.first_hop(node).unwrap_or(node);
    let (by, routes) = if first == node {
        (String::new(), "")
    } else {
        let routes = " `prp hosts check --all DIR`, with the prphosts of all nodes in DIR, finds \
                      loops and lines that are missing.";
        (format!(" by {}", prober.name(first)), routes)
    };
    let Some(addr) = prober.udp_addr(node) else {
        let cause = format!(
            "{title} does not answer: it is off, no prp-routed runs there, or frames are lost on \
             the path{by}"
        );
        let fix = format!(
            "`prp doctor` on that node; `prp trace` says how far frames get.{routes} Are both \
             devices in one VLAN, is the hardware address in prphosts right, and does a filter \
             drop the EtherType: `nft list ruleset` on both ends, the switch, the hypervisor?"
        );
        return Finding::fault(Kind::NoAnswer, cause, &fix);
    };
    let cause = format!(
        "{title} does not answer over UDP: it is off, no program there uses PRP and no prp-routed \
         runs, or datagrams are lost on the path{by}"
    );
    let (own, last) = (addr.port(), addr.port().saturating_add(UDP_PORTS - 1));
    let first = prober.name(first);
    let fix = format!(
        "`prp doctor` on that node; does a firewall (`nft list ruleset`) accept the UDP ports of \
         {first}, {own} to {last}, and does prphosts have its IP address?{routes}"
    );
    Finding::fault(Kind::NoAnswer, cause, &fix)
}

/// Whether the largest frames get through that both ends would send; else how large they may be.
fn of_size(
    prober: &mut Prober,
    node: NodeId,
    number: &mut u16,
    progress: &Progress,
) -> Result<Option<Finding>, Failure> {
    let largest = prober.largest_padding(node);
    if passes(prober, node, number, largest)? {
        return Ok(None);
    }
    let title = prober.name(node);
    // What prphosts says is of IP packets, whole (SPEC PRP-HOSTS-8).
    let (unit, headers) = match prober.udp_addr(node) {
        None => ("frames", 0),
        Some(SocketAddr::V4(_)) => ("IP packets", IPV4_HEADERS),
        Some(SocketAddr::V6(_)) => ("IP packets", IPV6_HEADERS),
    };
    let size = |prober: &Prober, padding| prober.frame_len(node, padding) + headers;
    // The smallest have passed, and the largest have not.
    let (mut passed, mut failed) = (0, largest);
    while failed - passed > 1 {
        let [least, most] = [passed, failed].map(|padding| size(prober, padding));
        progress.show(format_args!(
            "which {unit} get to {title} and back: those of {least} bytes do, those of {most} not"
        ));
        let middle = passed.midpoint(failed);
        if passes(prober, node, number, middle)? { passed = middle } else { failed = middle }
    }
    let [mtu, full] = [passed, largest].map(|padding| size(prober, padding));
    let cause = format!(
        "{unit} of {full} bytes do not get to {title} and back, those of {mtu} do: a link on \
         the path has a smaller MTU"
    );
    // A Linux device takes a VLAN tag more than its MTU, and a switch may not. MTUs are round.
    let is_with_tag = headers == 0 && (mtu - VLAN_TAG).is_multiple_of(10);
    let stated = if is_with_tag { mtu - VLAN_TAG } else { mtu };
    let fix =
        format!("mtu={stated} for {title} in the prphosts of both ends, or a larger MTU there");
    Ok(Some(Finding::fault(Kind::MtuHole, cause, &fix)))
}

/// Whether GSO batches get to `node` whole: the device tests that while it sends some (SPEC
/// PRP-UDP-7).
fn of_gso_batches(
    prober: &mut Prober,
    node: NodeId,
    number: &mut u16,
) -> Result<Option<Finding>, Failure> {
    let padding = prober.largest_padding(node).min(GSO_PADDING);
    for _ in 0..GSO_TESTS {
        let gso_batch = [number.wrapping_add(1), number.wrapping_add(2)];
        *number = gso_batch[1];
        prober.send_all(node, &gso_batch, Flags::MAX_HOPS, padding)?;
        let until = Instant::now() + TEST_INTERVAL;
        while prober.receive(until)?.is_some() {}
    }
    let Some(counters) = prober.udp_counters() else { return Ok(None) };
    let title = prober.name(node);
    Ok(if counters.gso_batches_refused > 0 {
        let cause = format!(
            "the kernel refuses GSO batches to {title} (UDP_SEGMENT): each datagram costs a system \
             call"
        );
        let fix =
            "a checksum offload that is off (`ethtool -k DEVICE`), or a tunnel on the path out";
        Some(Finding::warning(Kind::GsoBatchesRefused, cause, fix))
    } else if counters.gso_tests_failed > 0 {
        let cause = format!(
            "datagrams to {title} come when they leave alone, and not in GSO batches: an offload \
             on the path loses or garbles them, and PRP sends them one by one"
        );
        let fix = "`ethtool -K DEVICE tx-udp-segmentation off` here, `rx-udp-gro-forwarding off` \
                    and `rx-gro-list off` there, or a kernel other than 7.0 to 7.1.4";
        Some(Finding::warning(Kind::GsoBatchesLost, cause, fix))
    } else {
        None
    })
}

/// Whether echoes with `padding` bytes of padding come back.
fn passes(
    prober: &mut Prober,
    node: NodeId,
    number: &mut u16,
    padding: usize,
) -> Result<bool, Failure> {
    let answers = ask(prober, node, number, TRIES, padding)?;
    Ok(answers.replies.iter().any(|replies| *replies > 0))
}

/// Sends `count` echoes and waits for what comes of them. `number` is that of the last echo.
fn ask(
    prober: &mut Prober,
    node: NodeId,
    number: &mut u16,
    count: u16,
    padding: usize,
) -> Result<Answers, Failure> {
    let first = number.wrapping_add(1);
    let mut answers = Answers { replies: vec![0; count.into()], ..Answers::default() };
    for at in 0..count {
        *number = number.wrapping_add(1);
        prober.send(node, *number, Flags::MAX_HOPS, padding)?;
        let is_last = at + 1 == count;
        let until = Instant::now() + if is_last { ANSWER_TIMEOUT } else { PACE };
        // After the last answer an answer once more may come, which takes no longer than it did.
        while !is_last || answers.is_any_due() {
            let Some(reply) = prober.receive(until)? else { break };
            answers.note(&reply, first);
        }
    }
    let until = Instant::now() + PACE;
    while let Some(reply) = prober.receive(until)? {
        answers.note(&reply, first);
    }
    Ok(answers)
}

impl Answers {
    fn note(&mut self, reply: &ProbeReply, first: u16) {
        let at = usize::from(reply.sequence.wrapping_sub(first));
        let Some(replies) = self.replies.get_mut(at) else { return };
        if reply.kind == NodeKind::EchoReply {
            *replies += 1;
        } else {
            self.refusal = Some(*reply);
            self.refusals += 1;
        }
    }

    /// Whether there are echoes of which nothing has come.
    fn is_any_due(&self) -> bool {
        self.replies.iter().filter(|replies| **replies == 0).count() > self.refusals
    }
}
