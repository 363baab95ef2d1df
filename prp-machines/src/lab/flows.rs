//! Flows of known bytes between the nodes.

use std::mem;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::lab::{Job, Lab, NodeNumber, STEP, judge, quote};

/// Until a flow of a fixed size is over: most take seconds, and some links lose much.
const FLOW: Duration = Duration::from_secs(300);

/// How long one end of a flow is waited for until the other is looked at.
const PIECE: Duration = Duration::from_secs(2);

/// What must arrive until a flow counts as going on, in bytes: more than what the buffers of both
/// ends hold.
const PROGRESS: u64 = 2_000_000;

/// What flows.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The nodes of the client and the server.
    pub(crate) nodes: [NodeNumber; 2],
    /// Bytes in each direction.
    pub(crate) bytes: u64,
    /// Further options of `prp-machines flow`, for both ends.
    pub(crate) options: &'static str,
    /// What runs the ends, as `chrt -f 50`.
    pub(crate) under: &'static str,
}

/// A flow that goes on until it is stopped.
#[derive(Debug)]
#[must_use]
pub(crate) struct RunningFlow {
    nodes: [NodeNumber; 2],
    ends: [Job; 2],
}

impl Default for Flow {
    fn default() -> Self {
        Self { nodes: [1, 2], bytes: 0, options: "", under: "" }
    }
}

impl Flow {
    /// A flow of `bytes` in each direction.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }
}

impl Lab {
    /// Sends bytes between the nodes in both directions at the same time and has every one of them
    /// checked.
    ///
    /// # Errors
    /// The connection breaks, or a byte is not what was sent.
    pub(crate) fn transfer(&mut self, bytes: u64) -> Outcome {
        self.flow(&Flow::of(bytes))
    }

    /// As [`Self::transfer`], in another manner.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn flow(&mut self, flow: &Flow) -> Outcome {
        let ends = self.start_flow(flow, &format!("--bytes {}", flow.bytes), 7000)?;
        self.finish_flow(&ends, flow.bytes)
    }

    /// Starts a flow that goes on until [`Self::stop_flow`], so that something can be done to its
    /// link meanwhile.
    ///
    /// # Errors
    /// It does not begin.
    pub(crate) fn begin_flow(&mut self, flow: &Flow) -> Outcome<RunningFlow> {
        let options = "--until stop --progress progress$node";
        let ends = self.start_flow(flow, options, 7000)?;
        let running = RunningFlow { nodes: flow.nodes, ends };
        self.await_progress(&running)?;
        Ok(running)
    }

    /// Waits until another [`PROGRESS`] bytes have arrived at both nodes.
    ///
    /// # Errors
    /// The flow has ended, or does not go on.
    pub(crate) fn await_progress(&mut self, flow: &RunningFlow) -> Outcome {
        let script = |node: NodeNumber| {
            format!(
                "now() {{ {{ read -r count <progress{node}; }} 2>/dev/null || count=0; }}; now; begin=$count\n\
                 for _ in {{1..600}}; do now; if ((count >= begin + {PROGRESS})); then exit 0; fi; sleep 0.2; done\n\
                 echo \"the flow does not go on: $begin bytes have arrived, and then $count\"; exit 1"
            )
        };
        let [client, server] = flow.nodes.map(|node| self.start(node, &script(node), STEP * 2));
        let mut left = vec![client?, server?];
        let end = Instant::now() + STEP * 2;
        while let Some(job) = left.pop() {
            // In pieces, so that the end of a flow is noticed.
            match self.machines[job.machine].wait(job.run, PIECE)? {
                Some(ended) => drop(judge(&job.title, ended)?),
                None if Instant::now() > end => return Err(Failure::new("a machine is too slow")),
                None => left.push(job),
            }
            flow.ends.iter().try_for_each(|end| self.check_running(end))?;
        }
        Ok(())
    }

    /// Ends a flow; all that was sent must have arrived.
    ///
    /// # Errors
    /// The connection breaks, or a byte is not what was sent.
    pub(crate) fn stop_flow(&mut self, flow: &RunningFlow) -> Outcome {
        self.on_each(&flow.nodes.map(|node| (node, "touch stop".to_owned())))?;
        let outcome = self.finish_flow(&flow.ends, 0);
        self.on_each(&flow.nodes.map(|node| (node, format!("rm -f stop progress{node}"))))?;
        outcome
    }

    /// Starts both ends of a flow. `$node` in `options` is the number of the end's node.
    fn start_flow(&mut self, flow: &Flow, options: &str, port: u16) -> Outcome<[Job; 2]> {
        let (under, more) = (flow.under, flow.options);
        let command = |node: NodeNumber, peer: &str| {
            format!("node={node}; exec {under} prp-machines flow {peer} {options} {more}")
        };
        let tcp = more.contains("--tcp");
        let [near, far] = flow.nodes;
        let server = self.start(far, &command(far, &format!("--listen {port}")), FLOW * 3)?;
        if tcp {
            let listens = format!("ss -tln | grep -q ':{port} '");
            self.until_during(far, &listens, &[&server])?;
        } else {
            self.wait_for_listener(far, port, &server)?;
        }
        let peer = if tcp { format!("10.9.0.{far}") } else { format!("node{far}") };
        let connect = command(near, &format!("--connect {peer}:{port}"));
        let client = self.start(near, &connect, FLOW * 3)?;
        Ok([client, server])
    }

    fn finish_flow(&mut self, ends: &[Job; 2], bytes: u64) -> Outcome {
        let [client, server] = self.outputs(ends)?;
        let (client, server) = (counts(&client)?, counts(&server)?);
        if client.sent != server.received || server.sent != client.received {
            return Err(Failure::new(format!("client {client:?}, but server {server:?}")));
        }
        if client.sent < bytes || server.sent < bytes {
            return Err(Failure::new(format!("not all was sent: {client:?}, {server:?}")));
        }
        Ok(())
    }

    /// Waits for both ends of a flow. What fails first is the reason: the other end may wait for it
    /// in vain.
    fn outputs(&mut self, ends: &[Job; 2]) -> Outcome<[String; 2]> {
        let (begin, mut outputs) = (Instant::now(), [None, None]);
        loop {
            for (job, output) in ends.iter().zip(&mut outputs) {
                if output.is_none() {
                    // In pieces, so that the end of either is noticed.
                    let ended = self.machines[job.machine].wait(job.run, PIECE)?;
                    *output = ended.map(|ended| judge(&job.title, ended)).transpose()?;
                }
            }
            if let [Some(client), Some(server)] = &mut outputs {
                self.report_step(begin, &ends[0].title);
                return Ok([client, server].map(mem::take));
            }
            if begin.elapsed() > FLOW {
                let open = ends.iter().zip(&outputs).filter(|(_, output)| output.is_none());
                let titles: Vec<_> = open.map(|(job, _)| job.title.as_str()).collect();
                let (titles, seconds) = (titles.join(", "), FLOW.as_secs());
                return Err(Failure::new(format!("{titles}: not ended after {seconds} s")));
            }
        }
    }

    /// Waits until a process of a node listens at a port.
    ///
    /// # Errors
    /// None does, or the script `server` has ended.
    pub(crate) fn wait_for_listener(
        &mut self,
        node: NodeNumber,
        port: u16,
        server: &Job,
    ) -> Outcome {
        let name = quote(&format!("@prp/{node}/{port}$"));
        self.until_during(node, &format!("grep -q {name} /proc/net/unix"), &[server])
    }

    /// Waits for the end of a script that is to fail: what it printed must have `words`.
    ///
    /// # Errors
    /// It succeeds, does not end, or prints something else.
    pub(crate) fn fails_with(&mut self, node: NodeNumber, script: &str, words: &str) -> Outcome {
        let ended = self.ended(node, script, STEP)?;
        if ended.status == 0 || !ended.output.contains(words) {
            let (status, output) = (ended.status, ended.output.trim());
            return Err(Failure::new(format!(
                "`{script}` on node {node} ends with {status} and not with \"{words}\": {output}"
            )));
        }
        Ok(())
    }
}

/// What an end of a flow has counted.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct Counts {
    sent: u64,
    received: u64,
}

fn counts(output: &str) -> Outcome<Counts> {
    let line = output.lines().last().unwrap_or_default();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [sent, received] => Ok(Counts { sent, received }),
        _ => Err(Failure::new(format!("a flow printed: {output}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts__are_read_from_the_last_line() {
        let counted = counts("something else\n12 bytes sent, 34 received\n").unwrap();
        assert_eq!(counted, Counts { sent: 12, received: 34 });
        counts("broken").unwrap_err();
    }
}
