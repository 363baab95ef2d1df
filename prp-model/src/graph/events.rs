//! A list schedule of sends and receives: what can begin first begins first.
//!
//! A process does one thing at a time. With a [`Machine`] it needs a processor of its node for it,
//! and blocks between processes take one message at a time; without one each process has its own,
//! and a message between processes is alone.

use std::cmp::Ordering;

use super::machine::Machine;

/// Messages to schedule, and what they take.
pub(crate) trait Plan {
    /// What a time is made of.
    type Made: Clone + Default;
    /// How many messages there are.
    fn messages(&self) -> usize;
    /// How many processes there are.
    fn processes(&self) -> usize;
    /// The process that sends a message, and the one that receives it.
    fn ends(&self, message: usize) -> (usize, usize);
    /// The messages that its sender has to have received before.
    fn after(&self, message: usize) -> &[usize];
    /// The number of blocks between its two ends.
    fn links(&self, message: usize) -> usize;
    /// Which block one of those is, if it takes one message at a time.
    fn block(&self, message: usize, link: usize) -> Option<usize>;
    /// How long a part takes.
    fn time(&self, part: Part) -> f64;
    /// Adds a part to what a time is made of.
    fn add(&self, made_of: &mut Self::Made, part: Part);
}

/// A part of the time of a schedule.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Part {
    /// A message at its sender.
    Send(usize),
    /// A message at its receiver.
    Receive(usize),
    /// A message at a block between.
    Link(usize, usize),
    /// A process that has slept wakes up.
    Wake,
    /// A processor goes from one process to another.
    Switch,
}

/// A time, and what it is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment<M> {
    pub(crate) when: f64,
    pub(crate) made_of: M,
}

/// A step of a schedule.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Action {
    pub(crate) message: usize,
    pub(crate) step: Step,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Whether the process has slept before.
    pub(crate) has_slept: bool,
    /// Whether the processor comes from another process.
    pub(crate) is_switch: bool,
}

/// What a process does.
#[derive(Copy, Clone, Debug, Eq, PartialEq, PartialOrd)]
pub(crate) enum Step {
    Send,
    /// It begins to wait for what it receives first: that takes a turn of a processor, and no time.
    Wait,
    Receive,
}

/// What can begin.
#[derive(Clone, Debug)]
struct Ready<M> {
    message: usize,
    process: usize,
    step: Step,
    /// When.
    at: Moment<M>,
}

/// A processor.
#[derive(Clone, Debug, Default)]
struct Processor<M> {
    /// When the last send or receive on it ended.
    free: Moment<M>,
    /// Whose that was.
    holder: Option<usize>,
}

/// What a send or receive waits for last.
#[derive(Copy, Clone, Debug)]
enum Cause {
    Message,
    Process,
    Processor(usize),
}

/// How a send or receive begins.
#[derive(Copy, Clone, Debug)]
struct Start {
    from: f64,
    cause: Cause,
    has_slept: bool,
    is_switch: bool,
    processor: Option<usize>,
}

struct Schedule<'a, P: Plan> {
    plan: &'a P,
    machine: Option<&'a Machine>,
    /// When each process is free again.
    free: Vec<Moment<P::Made>>,
    /// How many sends and receives it has left.
    left: Vec<u32>,
    processors: Vec<Processor<P::Made>>,
    /// When each block is free again.
    blocks: Vec<Moment<P::Made>>,
    ready: Vec<Ready<P::Made>>,
}

/// The end of the last receive; `each` is called with every step, in the order in which they are
/// begun.
pub(crate) fn schedule<P: Plan>(
    plan: &P,
    machine: Option<&Machine>,
    each: &mut dyn FnMut(Action),
) -> Moment<P::Made> {
    let mut all = Schedule::new(plan, machine);
    let mut waits: Vec<usize> = (0..plan.messages()).map(|m| plan.after(m).len()).collect();
    let mut last = Moment::default();
    while let Some(next) = all.next() {
        let event = all.ready.swap_remove(next);
        let (action, to) = all.pass(&event);
        each(action);
        if event.step == Step::Send {
            all.carry(event.message, to.clone());
        }
        if event.step != Step::Receive {
            continue;
        }
        for (message, waits) in waits.iter_mut().enumerate() {
            if plan.after(message).contains(&event.message) {
                *waits -= 1;
                if *waits == 0 {
                    all.may_send(message, to.clone());
                }
            }
        }
        if to.when >= last.when {
            last = to;
        }
    }
    last
}

impl<'a, P: Plan> Schedule<'a, P> {
    fn new(plan: &'a P, machine: Option<&'a Machine>) -> Self {
        let processes = plan.processes();
        let mut left = vec![0; processes];
        for message in 0..plan.messages() {
            let (from, to) = plan.ends(message);
            left[from] += 1;
            left[to] += 1;
        }
        let processors = machine.map_or(0, |machine| {
            let nodes = processes.div_ceil(machine.of_node());
            nodes * (machine.processors as usize).clamp(1, machine.of_node().min(processes))
        });
        let mut all = Self {
            plan,
            machine,
            free: vec![Moment::default(); processes],
            left,
            processors: vec![Processor { free: Moment::default(), holder: None }; processors],
            blocks: Vec::new(),
            ready: Vec::new(),
        };
        let first = (0..plan.messages()).filter(|message| plan.after(*message).is_empty());
        first.for_each(|message| all.may_send(message, Moment::default()));
        if machine.is_some() {
            all.begin_to_wait();
        }
        all
    }

    /// Processes that do not send at first begin all the same.
    fn begin_to_wait(&mut self) {
        for message in 0..self.plan.messages() {
            let (_, process) = self.plan.ends(message);
            if self.ready.iter().all(|event| event.process != process) {
                let (step, at) = (Step::Wait, Moment::default());
                self.ready.push(Ready { message, process, step, at });
            }
        }
    }

    fn may_send(&mut self, message: usize, at: Moment<P::Made>) {
        let (process, _) = self.plan.ends(message);
        self.ready.push(Ready { message, process, step: Step::Send, at });
    }

    /// Which begins next: what can begin first; of several what could have longest, and then the
    /// one that is written first.
    fn next(&self) -> Option<usize> {
        let order =
            |event: &Ready<_>| (self.start(event).from, event.at.when, event.message, event.step);
        let all = self.ready.iter().map(order).enumerate();
        all.min_by(|l, r| l.1.partial_cmp(&r.1).unwrap_or(Ordering::Equal)).map(|(at, _)| at)
    }

    fn start(&self, event: &Ready<P::Made>) -> Start {
        let (when, free) = (event.at.when, self.free[event.process].when);
        let (mut from, mut cause) =
            if free > when { (free, Cause::Process) } else { (when, Cause::Message) };
        let Some(machine) = self.machine else {
            return Start { from, cause, has_slept: false, is_switch: false, processor: None };
        };
        let has_slept = event.step == Step::Receive && when > free + machine.spin.number();
        if has_slept {
            from += self.plan.time(Part::Wake);
        }
        let (processor, available, is_switch) = self.processor(machine, event.process, from);
        if available > from {
            (from, cause) = (available, Cause::Processor(processor));
        }
        Start { from, cause, has_slept, is_switch, processor: Some(processor) }
    }

    /// The processor on which a process can go on first from `ready` on, when, and whether it comes
    /// from another process: its last one if that is no later, then the one that is free longest.
    fn processor(&self, machine: &Machine, process: usize, ready: f64) -> (usize, f64, bool) {
        let nodes = self.free.len().div_ceil(machine.of_node());
        let count = self.processors.len() / nodes;
        let first = process / machine.of_node() * count;
        let one = |at: usize| {
            let Processor { free, holder } = &self.processors[at];
            match holder {
                Some(other) if *other != process => {
                    // A process that waits polls with its processor before it sleeps.
                    let polls = if self.left[*other] > 0 { machine.spin.number() } else { 0.0 };
                    (at, free.when + polls + self.plan.time(Part::Switch), true)
                }
                _ => (at, free.when, false),
            }
        };
        let order = |(at, available, is_switch): &(usize, f64, bool)| {
            let is_own = self.processors[*at].holder == Some(process);
            (available.max(ready), !is_own, *is_switch, *available)
        };
        let less = |l: &_, r: &_| order(l).partial_cmp(&order(r)).unwrap_or(Ordering::Equal);
        (first..first + count).map(one).min_by(less).unwrap_or((first, ready, false))
    }

    /// Does a send or receive: when and how, and its end.
    fn pass(&mut self, event: &Ready<P::Made>) -> (Action, Moment<P::Made>) {
        let start = self.start(event);
        let mut made_of = match start.cause {
            Cause::Message => event.at.made_of.clone(),
            Cause::Process => self.free[event.process].made_of.clone(),
            Cause::Processor(at) => self.processors[at].free.made_of.clone(),
        };
        match start.cause {
            Cause::Message if start.has_slept => self.plan.add(&mut made_of, Part::Wake),
            Cause::Processor(_) if start.is_switch => self.plan.add(&mut made_of, Part::Switch),
            _ => {}
        }
        let message = event.message;
        let own = match event.step {
            Step::Send => Some(Part::Send(message)),
            Step::Wait => None,
            Step::Receive => Some(Part::Receive(message)),
        };
        let mut when = start.from;
        if let Some(own) = own {
            self.plan.add(&mut made_of, own);
            when += self.plan.time(own);
            self.left[event.process] -= 1;
        }
        let to = Moment { when, made_of };
        self.free[event.process] = to.clone();
        if let Some(at) = start.processor {
            self.processors[at] = Processor { free: to.clone(), holder: Some(event.process) };
        }
        let action = Action {
            message,
            step: event.step,
            from: start.from,
            to: to.when,
            has_slept: start.has_slept,
            is_switch: start.is_switch,
        };
        (action, to)
    }

    /// Takes a message through the blocks between its ends.
    fn carry(&mut self, message: usize, mut at: Moment<P::Made>) {
        for link in 0..self.plan.links(message) {
            let block = self.plan.block(message, link).filter(|_| self.machine.is_some());
            if let Some(block) = block {
                if self.blocks.len() <= block {
                    self.blocks.resize(block + 1, Moment::default());
                }
                if self.blocks[block].when > at.when {
                    at = self.blocks[block].clone();
                }
            }
            let part = Part::Link(message, link);
            at.when += self.plan.time(part);
            self.plan.add(&mut at.made_of, part);
            if let Some(block) = block {
                self.blocks[block] = at.clone();
            }
        }
        let (_, process) = self.plan.ends(message);
        self.ready.push(Ready { message, process, step: Step::Receive, at });
    }
}

/// The step in which each message is sent, from 1 on: as soon as what it waits for has arrived, and
/// both of its ends are free. The message that is written first goes first.
pub(crate) fn steps(plan: &impl Plan) -> Vec<u32> {
    let count = plan.messages();
    let mut steps = vec![0; count];
    let mut step = 0;
    while steps.contains(&0) {
        step += 1;
        let mut is_busy = vec![false; plan.processes()];
        for message in 0..count {
            let (from, to) = plan.ends(message);
            let has_come = |before: &usize| steps[*before] > 0 && steps[*before] < step;
            let is_free = !is_busy[from] && !is_busy[to];
            if steps[message] == 0 && plan.after(message).iter().all(has_come) && is_free {
                steps[message] = step;
                (is_busy[from], is_busy[to]) = (true, true);
            }
        }
    }
    steps
}
