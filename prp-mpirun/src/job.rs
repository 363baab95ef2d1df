//! A job, as the launcher sees it: agents, ranks, and what becomes of them.

mod end;
mod input;
mod output;
mod printer;
mod question;
mod roll;
mod world;

use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, stdout};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, raise};
use prp_mpi::control::names::Names;
use prp_mpi::control::program::Program;
use prp_mpi::control::{Frame, Topic};
use prp_mpi::process::Identity;

use crate::arguments::{Arguments, Node};
use crate::rank_report;
use crate::{launch, signals, threads};
use end::Ending;
use printer::{Printer, Queue};
use roll::{Reason, Roll};
use world::World;

/// How long a node may take until its agent answers: a login by ssh takes a second or two.
const START: Duration = Duration::from_secs(20);

/// How long the launcher waits for something to happen before it reads the clock.
const TICK: Duration = Duration::from_millis(50);

/// How long an agent may take to end once nothing more is said to it.
const LEAVE: Duration = Duration::from_secs(2);

/// Events that wait until they are handled. Output waits for room before it becomes an event, so
/// handling it takes no time.
const EVENTS: usize = 256;

/// Exit status of a job whose ranks wait for each other, or that takes too long: as of timeout(1).
const HUNG: u8 = 124;

/// What happens to a job.
#[derive(Debug)]
enum Event {
    Frame(usize, Frame),
    /// An agent is gone.
    Gone(usize),
    /// Bytes of standard input; none is its end.
    Input(Vec<u8>),
    Signal(Signal),
}

/// What is known of a rank.
#[derive(Clone, Debug, Default)]
struct Rank {
    node: usize,
    /// Those that it was started with.
    world: usize,
    card: Option<String>,
    has_begun: bool,
    is_finalized: bool,
    has_ended: bool,
    /// What it has written of a line that is not whole yet.
    output: Vec<u8>,
    error_output: Vec<u8>,
}

struct Agent {
    node: Node,
    child: Child,
    input: Option<ChildStdin>,
    is_ready: bool,
}

struct Job<'a> {
    arguments: &'a Arguments,
    agents: Vec<Agent>,
    /// Tells this launcher from others.
    own: Identity,
    /// All ranks that were started, also those that were spawned, which have the numbers behind.
    ranks: Vec<Rank>,
    worlds: Vec<World>,
    names: Names,
    events: Receiver<Event>,
    /// For those that watch what happens.
    watcher: SyncSender<Event>,
    /// Allows to read more of standard input, once rank 0 is started.
    input: Option<Sender<()>>,
    printer: Printer,
    /// Whether the user has ended the job.
    is_stopped: bool,
    begun: Instant,
    ending: Ending,
    roll: Roll,
}

/// Runs the job; its exit status.
pub(crate) fn run(arguments: &Arguments) -> io::Result<u8> {
    if arguments.program.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program: see --help"));
    }
    let nodes = arguments.nodes()?;
    let signals = signals::heeded();
    signals.thread_block()?;
    let (watcher, events) = sync_channel(EVENTS);
    watch_signals(signals, watcher.clone())?;
    let mut job = Job {
        arguments,
        agents: Vec::new(),
        own: Identity { job: RandomState::new().hash_one(0), number: 0 },
        ranks: Vec::new(),
        worlds: Vec::new(),
        names: Names::default(),
        events,
        watcher,
        input: None,
        printer: Printer::start()?,
        is_stopped: false,
        begun: Instant::now(),
        ending: Ending::default(),
        roll: Roll::default(),
    };
    job.start(nodes)?;
    Ok(job.attend())
}

fn watch_signals(signals: SigSet, events: SyncSender<Event>) -> io::Result<()> {
    threads::start(move || {
        while let Ok(signal) = signals.wait() {
            if events.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

/// Makes events of what an agent says, and of its end.
fn watch_agent(
    index: usize,
    mut output: ChildStdout,
    events: SyncSender<Event>,
    printed: Arc<Queue>,
) -> io::Result<()> {
    threads::start(move || {
        while let Ok(Some(frame)) = Frame::read(&mut output) {
            if matches!(frame.topic, Topic::Output | Topic::ErrorOutput) {
                printed.wait_for_room();
            }
            if events.send(Event::Frame(index, frame)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Gone(index));
    })?;
    Ok(())
}

impl Job<'_> {
    /// Starts the agents.
    fn start(&mut self, nodes: Vec<Node>) -> io::Result<()> {
        for (index, node) in nodes.into_iter().enumerate() {
            let mut child = launch::agent(&node, &self.arguments.launch)?;
            self.ranks.extend((0..node.ranks).map(|_| Rank { node: index, ..Rank::default() }));
            if let Some(output) = child.stdout.take() {
                watch_agent(index, output, self.watcher.clone(), self.printer.queue())?;
            }
            let input = child.stdin.take();
            self.agents.push(Agent { node, child, input, is_ready: false });
        }
        let (ranks, words) = (self.ranks.len(), self.arguments.program.clone());
        let program = Program { ranks, words, ..Program::default() };
        self.worlds.push(World::new(0..ranks, vec![program]));
        Ok(())
    }

    /// Handles events until all is over.
    fn attend(&mut self) -> u8 {
        // Lines that are not whole after a while may be questions to a person.
        let shows_prompts = stdout().is_terminal() && !self.arguments.label;
        loop {
            match self.events.recv_timeout(TICK) {
                Ok(Event::Frame(agent, frame)) => self.receive(agent, &frame),
                Ok(Event::Gone(agent)) => self.lose(agent),
                Ok(Event::Input(piece)) => self.send(0, &Frame::new(Topic::Input, 0, piece)),
                Ok(Event::Signal(signal)) => self.heed(signal),
                Err(RecvTimeoutError::Timeout) if shows_prompts => self.print_rests(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.attend_roll();
            self.check_start();
            self.check_time();
            if let Some(signal) = self.ending.due() {
                self.send_all(&Frame::new(Topic::Signal, signal as usize, []));
            }
            if self.ranks.iter().all(|r| r.has_ended) || self.ending.is_over() {
                break;
            }
        }
        self.leave_agents();
        self.finish_output();
        if let Some(error) = self.printer.queue().failed() {
            self.printer.report(&format!("standard output: {error}: output is lost"));
            self.finish_output();
            self.ending.note(1);
        }
        self.ending.status()
    }

    /// Does what a signal to the launcher asks for.
    fn heed(&mut self, signal: Signal) {
        match signal {
            Signal::SIGQUIT => self.ask_ranks(Reason::User),
            Signal::SIGTSTP => self.stop(),
            _ => {
                self.is_stopped = true;
                self.fail(128 + signal as u8, &format!("stopped by {signal}"));
            }
        }
    }

    /// Stops the ranks and this process, until it is continued.
    fn stop(&mut self) {
        let stopped = Instant::now();
        self.send_all(&Frame::new(Topic::Signal, Signal::SIGSTOP as usize, []));
        let signal = SigSet::from(Signal::SIGTSTP);
        // As the signal itself: where no shell could continue the launcher, it does not stop.
        let _ = signal.thread_unblock().and_then(|()| raise(Signal::SIGTSTP));
        let _ = signal.thread_block();
        self.send_all(&Frame::new(Topic::Signal, Signal::SIGCONT as usize, []));
        self.begun += stopped.elapsed();
    }

    /// Waits for the agents to end; those that do not are killed.
    fn leave_agents(&mut self) {
        for agent in &mut self.agents {
            agent.input = None;
        }
        let begun = Instant::now();
        for Agent { child, is_ready, .. } in &mut self.agents {
            while let Ok(None) = child.try_wait() {
                if !*is_ready || begun.elapsed() >= LEAVE {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Waits until all output is written, or the user does not want to wait.
    fn finish_output(&mut self) {
        self.print_rests();
        let queue = self.printer.queue();
        while !queue.is_empty_within(TICK) {
            while let Ok(event) = self.events.try_recv() {
                if let Event::Signal(signal) = event {
                    self.heed(signal);
                }
            }
            if self.is_stopped && self.ending.is_over() {
                break;
            }
        }
    }

    fn send(&mut self, agent: usize, frame: &Frame) {
        if let Some(input) = &mut self.agents[agent].input
            && frame.write(input).is_err()
        {
            self.agents[agent].input = None;
        }
    }

    fn send_all(&mut self, frame: &Frame) {
        (0..self.agents.len()).for_each(|agent| self.send(agent, frame));
    }

    /// Handles a frame of an agent.
    fn receive(&mut self, agent: usize, frame: &Frame) {
        let rank = frame.rank as usize;
        match frame.topic {
            Topic::Ready => {
                self.agents[agent].is_ready = true;
                self.start_on(agent, 0);
                // Rank 0 is there from now on; what came before would be lost.
                if agent == 0 && self.arguments.no_stdin {
                    self.send(0, &Frame::new(Topic::Input, 0, []));
                } else if agent == 0 && self.input.is_none() {
                    match input::read_on(self.watcher.clone()) {
                        Ok(permits) => self.input = Some(permits),
                        Err(e) => self.fail(1, &format!("reading standard input: {e}")),
                    }
                }
            }
            Topic::InputTaken => {
                let _ = self.input.as_ref().map(|permits| permits.send(()));
            }
            Topic::Failed => {
                let name = self.agents[agent].node.name.as_deref().unwrap_or("here");
                let text = format!("the agent of node {name} failed: {}", frame.text());
                self.fail(1, &text);
            }
            _ if rank >= self.ranks.len() => {}
            Topic::Hello => {
                // Also a rank that comes back after its last session.
                self.ranks[rank].has_begun = true;
                self.ranks[rank].is_finalized = false;
            }
            Topic::Card => {
                self.ranks[rank].card = Some(frame.text());
                let all = self.worlds[self.ranks[rank].world].ranks.clone();
                let cards = self.ranks[all.clone()].iter().map(|r| r.card.clone());
                if let Some(cards) = cards.collect::<Option<Vec<_>>>() {
                    self.send_all(&Frame::new(Topic::Cards, all.start, cards.join("\n")));
                }
            }
            Topic::Finalized => self.ranks[rank].is_finalized = true,
            Topic::Output | Topic::ErrorOutput => self.print(frame),
            Topic::Stuck => self.ask_ranks(Reason::Limit(frame.milliseconds())),
            Topic::NearlyStuck => self.ask_ranks(Reason::Nearly(frame.milliseconds())),
            Topic::Whereabouts => self.roll.note(rank, frame.text()),
            Topic::Abort => {
                let (status, reason) = frame.content.split_at(frame.content.len().min(4));
                let status = status.first().copied().unwrap_or(1);
                let reason = String::from_utf8_lossy(reason);
                self.fail(status.max(1), &format!("rank {rank} ended the job: {reason}"));
            }
            Topic::Exited => self.note_end(rank, &frame.text()),
            Topic::Started => self.note_started(self.ranks[rank].world),
            Topic::Spawn => self.spawn(agent, frame),
            Topic::Publish | Topic::Withdraw | Topic::LookUp => self.answer_name(agent, frame),
            _ => {}
        }
    }

    /// Where a rank is, for people.
    fn place(&self, rank: usize) -> String {
        match &self.agents[self.ranks[rank].node].node.name {
            Some(name) => format!("rank {rank} on node {name}"),
            None => format!("rank {rank}"),
        }
    }

    /// A rank has ended.
    fn note_end(&mut self, rank: usize, how: &str) {
        self.ranks[rank].has_ended = true;
        self.print_rest(rank);
        let Rank { has_begun, is_finalized, world, .. } = self.ranks[rank];
        let place = self.place(rank);
        if self.worlds[world].takes_end(how) {
            return;
        }
        match how.split_once(' ') {
            Some(("exit", "0")) if !has_begun && world > 0 => {
                self.fail(1, &format!("{place} exited without calling MPI_Init, and was spawned"));
            }
            Some(("exit", "0")) if has_begun && !is_finalized => {
                self.fail(1, &format!("{place} exited without calling MPI_Finalize"));
            }
            Some(("exit", "0")) => {}
            Some(("exit", code)) => {
                let status = code.parse::<i32>().map_or(1, |c| (c & 0xff) as u8).max(1);
                let text = format!("{place} exited with status {code}");
                if is_finalized { self.ending.note(status) } else { self.fail(status, &text) }
            }
            Some(("signal", number)) => {
                let signal = number.parse().ok().and_then(|n: i32| Signal::try_from(n).ok());
                let name = signal.map_or_else(|| format!("signal {number}"), |s| s.to_string());
                // Real-time signals have a number, and no name.
                let status = number.parse::<u8>().unwrap_or(0).saturating_add(128);
                self.fail(status, &format!("{place} was killed by {name}"));
            }
            _ => self.fail(127, &format!("{place} was {how}")),
        }
    }

    /// The job has failed: the first reason is the one that counts.
    fn fail(&mut self, status: u8, reason: &str) {
        if self.ending.begin(status) {
            self.printer.report(reason);
            self.printer.queue().lift_limit();
        }
    }

    /// An agent is gone.
    fn lose(&mut self, agent: usize) {
        let lost: Vec<_> = (0..self.ranks.len())
            .filter(|&r| self.ranks[r].node == agent && !self.ranks[r].has_ended)
            .collect();
        if lost.is_empty() {
            return;
        }
        for &rank in &lost {
            self.ranks[rank].has_ended = true;
        }
        let Agent { node, is_ready, .. } = &self.agents[agent];
        let name = node.name.as_deref().unwrap_or("here");
        let text = if *is_ready {
            format!("the agent of node {name} is gone, with ranks {}", rank_report::spans(&lost))
        } else {
            let launch = self.arguments.launch.replace("{node}", name);
            format!("node {name} was not reached: the command ended: {launch}")
        };
        self.fail(1, &text);
    }

    /// Names a node that does not answer.
    fn check_start(&mut self) {
        if self.begun.elapsed() < START {
            return;
        }
        let missing = self.agents.iter().find(|a| !a.is_ready);
        if let Some(name) = missing.map(|a| a.node.name.clone().unwrap_or_default()) {
            let text = format!("node {name} has not answered within {} s", START.as_secs());
            self.fail(1, &text);
        }
    }

    /// Ends a job whose time is over.
    fn check_time(&mut self) {
        if let Some(limit) = self.arguments.timeout.filter(|limit| self.begun.elapsed() >= *limit) {
            self.fail(HUNG, &format!("the job has not ended within {} s", limit.as_secs_f64()));
        }
    }
}
