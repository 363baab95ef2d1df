//! What every user does: connections, transfers, messages, the tools.

use crate::failure::{Failure, Outcome};
use crate::lab::{Flow, Lab, STEP};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("tools", "prp ping, trace, doctor, dump, stat and hosts say what is so", tools),
        Scene::new("transfer", "20 MB in both directions", |lab| lab.transfer(BYTES)).core(),
        Scene::new("transfer-udp", "20 MB in both directions over UDP", transfer_udp),
        Scene::new("transfer-unix", "20 MB in both directions by Unix sockets", transfer_unix)
            .with_any_card(),
        Scene::new("messages", "messages of 0 to 70,000 bytes, many of them padded", messages)
            .core(),
        Scene {
            // With room for more the kernel's driver breaks a rule of its memory.
            exception: |_, model| {
                let hint = "a pcnet has room for 32 received frames, and nothing repairs a loss";
                (model.device == "pcnet").then_some(hint)
            },
            ..Scene::new("classic", "a client that knows the header of 1997 only", classic)
        },
        Scene::new("refusal", "a closed port refuses, a killed peer resets", refusal)
            .with_any_card(),
        Scene::new("tcp-beside", "TCP and PRP on one card at the same time", tcp_beside),
        Scene::new("mpi", "a ring of four ranks on both nodes", mpi).with_any_card(),
    ]
};

/// Bytes of a transfer, in each direction.
const BYTES: u64 = 20_000_000;

pub(super) fn tools(lab: &mut Lab) -> Outcome {
    lab.start_routers()?;
    lab.on(1, "prp hosts check")?;
    lab.on(1, "prp ping -c 3 -i 0.2 -s 1400 node2")?;
    lab.on(2, "prp ping -c 3 -i 0.2 node1")?;
    let trace = lab.on(1, "prp trace node2")?;
    if !trace.contains("2 (node2)") {
        return Err(Failure::new(format!("prp trace does not reach node2: {trace}")));
    }
    let dump = lab.start(2, "timeout 60 prp dump -i eth0 -c 4 --kind echo --json", STEP)?;
    // It captures as soon as its socket is there, of which it says nothing.
    lab.until(2, "grep -q ' 88b5 ' /proc/net/packet && sleep 0.5 && prp ping -c 4 -i 0.2 node1")?;
    let lines = lab.finish(&dump, STEP)?;
    if lines.lines().filter(|line| line.starts_with('{')).count() != 4 {
        return Err(Failure::new(format!("prp dump prints not 4 echoes: {lines}")));
    }
    doctor(lab)
}

/// Asks `prp doctor` whether all is well.
fn doctor(lab: &mut Lab) -> Outcome {
    let ended = lab.ended(1, "prp doctor -q node2", STEP)?;
    let is_finding = |line: &&str| line.starts_with("fault: ") || line.starts_with("warning: ");
    let known = match lab.model(1).device {
        // QEMU's has the counter of short frames (RUC) count frames of 60 bytes, which are whole
        // without their checksum; the kernel takes those for errors.
        "e1000e" => Some("errors in receiving, 0 in sending"),
        // QEMU's says so.
        "pcnet" => Some("eth0 is at half duplex"),
        _ => None,
    };
    let is_known = |line: &&str| known.is_some_and(|known| line.contains(known));
    let findings: Vec<_> = ended.output.lines().filter(is_finding).collect();
    if findings.is_empty() != (ended.status == 0) || !findings.iter().all(is_known) {
        return Err(Failure::new(format!("prp doctor: {}: {}", ended.status, ended.output.trim())));
    }
    Ok(())
}

fn transfer_udp(lab: &mut Lab) -> Outcome {
    lab.use_udp("eth0")?;
    lab.transfer(BYTES)
}

fn transfer_unix(lab: &mut Lab) -> Outcome {
    for node in [1, 2] {
        let lines = "1 unix:/run/machines/cluster node1\n2 unix:/run/machines/cluster node2\n";
        lab.set_hosts(node, &format!("self {node}\n{lines}"))?;
    }
    lab.on(1, "mkdir -m 700 cluster")?;
    lab.transfer(BYTES)
}

fn messages(lab: &mut Lab) -> Outcome {
    lab.flow(&Flow { options: "--messages", ..Flow::of(BYTES / 4) })
}

fn classic(lab: &mut Lab) -> Outcome {
    // Debian's fq_codel drops what has waited too long, as it does in a machine that waits for its
    // host, and here nothing repairs a loss.
    lab.on_both("tc qdisc replace dev eth0 root pfifo limit 1000")?;
    lab.flow(&Flow { options: "--classic --lockstep", ..Flow::of(BYTES / 10) })
}

fn refusal(lab: &mut Lab) -> Outcome {
    lab.start_routers()?;
    lab.fails_with(1, "prp cat -w 20 node2 6999 </dev/null", "connection refused")?;
    let server = lab.start(2, "exec prp cat -l 7000 </dev/zero >/dev/null", STEP)?;
    lab.wait_for_listener(2, 7000, &server)?;
    let client = lab.start(1, "exec prp cat -r node2 7000 >/dev/null", STEP)?;
    lab.until(1, "prp stat -H | grep -q :7000")?;
    lab.signal(&server, 9)?;
    match lab.finish(&client, STEP) {
        Err(reason) if reason.to_string().contains("reset") => Ok(()),
        other => Err(Failure::new(format!("a killed peer does not reset: {other:?}"))),
    }
}

pub(super) fn tcp_beside(lab: &mut Lab) -> Outcome {
    lab.add_ip_addresses("eth0")?;
    let prp = lab.begin_flow(&Flow::default())?;
    // Where processors are short, TCP gets a part that is small.
    lab.flow(&Flow { options: "--tcp", ..Flow::of(BYTES / 10) })?;
    lab.await_progress(&prp)?;
    lab.stop_flow(&prp)
}

pub(super) fn mpi(lab: &mut Lab) -> Outcome {
    // In place of ssh, which would need a server of its own on each node.
    for node in [1, 2] {
        let server =
            lab.start(node, "exec prp cat -lkq 2222 -e 'exec prp-mpirun --agent'", STEP * 2)?;
        lab.wait_for_listener(node, 2222, &server)?;
    }
    let command = "prp-mpirun -n 4 --node node1,node2 --launch 'prp cat -q {node} 2222' rust_api";
    let output = lab.on(1, command)?;
    if output.contains("all well") { Ok(()) } else { Err(Failure::new(output)) }
}
