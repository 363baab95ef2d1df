//! The applications of a node: listeners, and one application for each end of a connection.

use std::collections::BTreeMap;

use prp_proto::addr::PrpAddr;
use prp_proto::error::ConnError;
use prp_proto::event::{ConnHandle, Event, ListenHandle};
use prp_proto::time::Instant;

use super::Node;
use crate::plan::Plan;
use crate::session::{Role, Session};
use crate::topology::node_id;
use crate::world::{SimEvent, World};

/// What runs in a node's process.
#[derive(Debug, Default)]
pub(super) struct Apps {
    /// By slot of the connection.
    sessions: BTreeMap<usize, Session>,
    /// By index in the plan.
    listeners: BTreeMap<usize, ListenHandle>,
    scratch: Vec<u8>,
}

impl Apps {
    fn session(&mut self, conn: ConnHandle) -> Option<&mut Session> {
        self.sessions.get_mut(&conn.slot()).filter(|session| session.conn == conn)
    }

    /// A connection whose application waits with its buffer lent, and the buffer's size.
    pub(super) fn lender(&self, plan: &Plan) -> Option<(ConnHandle, usize)> {
        let lends = |s: &Session| Some((s.conn, s.lends(&plan.flows[s.record.flow])?));
        self.sessions.values().find_map(lends)
    }

    /// Gives an application what its lent buffer took.
    pub(super) fn take_lent(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        bytes: &[u8],
        plan: &Plan,
    ) -> Result<(), String> {
        let Some(session) = self.session(conn) else { return Ok(()) };
        session.take_lent(now, bytes, &plan.flows[session.record.flow])
    }

    /// When an application wants to go on by itself.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.sessions.values().filter_map(Session::wakes_at).min()
    }
}

impl Node {
    /// A listener opens, unless it is open already.
    pub(crate) fn listen(
        &mut self,
        now: Instant,
        listener: usize,
        plan: &Plan,
        world: &mut World,
    ) -> Result<(), String> {
        let l = &plan.listeners[listener];
        if self.apps.listeners.contains_key(&listener) {
            return Ok(());
        }
        self.claims.insert(l.port);
        let handle = self.endpoint.listen(l.port, l.backlog, l.config);
        let handle = handle.map_err(|e| format!("listen on {}: {e:?}", l.port))?;
        self.apps.listeners.insert(listener, handle);
        world.recorder.note(now, 101, format_args!("node{} listens on {}", l.node + 1, l.port));
        self.schedule(now, world);
        Ok(())
    }

    /// A listener closes, if it is open.
    pub(crate) fn unlisten(&mut self, now: Instant, listener: usize, world: &mut World) {
        if let Some(handle) = self.apps.listeners.remove(&listener) {
            self.endpoint.unlisten(now, handle);
            let what = format_args!("node{} closes listener {listener}", self.index + 1);
            world.recorder.note(now, 102, what);
            self.schedule(now, world);
        }
    }

    /// The client of a flow asks for its connection.
    pub(crate) fn start(
        &mut self,
        now: Instant,
        flow: usize,
        plan: &Plan,
        world: &mut World,
    ) -> Result<(), String> {
        let f = &plan.flows[flow];
        let remote = PrpAddr::new(node_id(f.server), f.port);
        let claims = &mut self.claims;
        let mut twice = None;
        let asked = self.endpoint.connect(now, remote, f.local, f.config, |port| {
            if !claims.insert(port) {
                twice = Some(port);
            }
            true
        });
        if let Some(port) = twice {
            return Err(format!("node {} claims {port:?} twice", self.index + 1));
        }
        let conn = match asked {
            Ok(conn) => conn,
            Err(why) => {
                world.flow_log.failed(now, flow, why);
                world.recorder.note(now, 103, format_args!("flow {flow} cannot start: {why:?}"));
                return Ok(());
            }
        };
        // Asking for it by number is claiming it, if it is not ours already.
        self.claims.extend(f.local);
        let ends = self.endpoint.ends(conn).ok_or("a new connection has no ends")?;
        let id = self.endpoint.ids(conn).map_or(0, |ids| ids.own_id);
        world.flow_log.asked(now, flow, ends, id);
        let what = format_args!("flow {flow} asks: {} > {}", ends.0, ends.1);
        world.recorder.note(now, 104, what);
        let session = Session::new(flow, Role::Client, conn, now);
        self.apps.sessions.insert(conn.slot(), session);
        self.schedule(now, world);
        Ok(())
    }

    /// The application of a listener takes what waits.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        listener: usize,
        world: &mut World,
    ) -> Result<(), String> {
        let Some(handle) = self.apps.listeners.get(&listener).copied() else { return Ok(()) };
        while let Some(conn) = self.endpoint.accept(now, handle) {
            let (local, remote) = self.endpoint.ends(conn).ok_or("accepted, and has no ends")?;
            let id = self.endpoint.ids(conn).map_or(0, |ids| ids.peer_id);
            let flow = world.flow_log.find(remote, local, id);
            let flow = flow.ok_or_else(|| format!("{remote} never asked for {local}"))?;
            world.flow_log.opened(now, flow);
            world.recorder.note(now, 105, format_args!("flow {flow} accepted"));
            let session = Session::new(flow, Role::Server, conn, now);
            if let Some(old) = self.apps.sessions.insert(conn.slot(), session) {
                return Err(format!("{:?} given out twice", old.conn));
            }
        }
        self.schedule(now, world);
        Ok(())
    }

    /// Every application does what it can.
    pub(super) fn run_apps(
        &mut self,
        now: Instant,
        plan: &Plan,
        world: &mut World,
    ) -> Result<(), String> {
        let slots: Vec<usize> = self.apps.sessions.keys().copied().collect();
        slots.into_iter().try_for_each(|slot| self.act(now, slot, plan, world))
    }

    /// Takes the endpoint's events; whether there were any.
    pub(super) fn take_events(
        &mut self,
        now: Instant,
        plan: &Plan,
        world: &mut World,
    ) -> Result<bool, String> {
        let mut any = false;
        while let Some(event) = self.endpoint.poll_event() {
            any = true;
            match event {
                Event::Conn(conn, ready) => {
                    if let Some(session) = self.apps.session(conn) {
                        session.on_event(ready);
                        self.act(now, conn.slot(), plan, world)?;
                    }
                }
                Event::Incoming(handle) => {
                    let found = self.apps.listeners.iter().find(|(_, h)| **h == handle);
                    let Some((listener, _)) = found else { continue };
                    let listener = *listener;
                    let after = plan.listeners[listener].accepts_after;
                    if after.is_zero() {
                        self.accept(now, listener, world)?;
                        self.run_apps(now, plan, world)?;
                    } else {
                        world.queue.push(now + after, SimEvent::Accept { listener });
                    }
                }
                Event::UnownedPort(unowned) => {
                    if !self.claims.contains(&unowned.port()) {
                        self.endpoint.refuse(&unowned);
                    }
                }
            }
        }
        while let Some(port) = self.endpoint.poll_released_port() {
            if !self.claims.remove(&port) {
                return Err(format!("node {} gives back {port:?} twice", self.index + 1));
            }
        }
        Ok(any)
    }

    fn act(
        &mut self,
        now: Instant,
        slot: usize,
        plan: &Plan,
        world: &mut World,
    ) -> Result<(), String> {
        let Some(session) = self.apps.sessions.get_mut(&slot) else { return Ok(()) };
        let flow = session.record.flow;
        session.act(now, &mut self.endpoint, &plan.flows[flow], &mut self.apps.scratch)?;
        world.flow_log.moved(flow, session.moved.max(session.wakes_at().unwrap_or(session.moved)));
        if !session.is_over() {
            return Ok(());
        }
        let record = session.record.clone();
        self.apps.sessions.remove(&slot);
        let error = record.error.map_or("", ConnError::reason);
        let what = format_args!(
            "flow {flow} {:?} {:?}: wrote {}, read {}, eof {} {error}",
            record.role, record.how, record.wrote, record.read, record.eof
        );
        world.recorder.note(now, 106, what);
        world.tally.bytes += record.read;
        if let Some(error) = record.error {
            world.tally.add_error(error);
        }
        world.flow_log.ended(record);
        Ok(())
    }

    /// Applications and listeners vanish with their process.
    pub(super) fn kill_apps(&mut self, world: &mut World) {
        self.apps.listeners.clear();
        for (_, mut session) in core::mem::take(&mut self.apps.sessions) {
            session.kill();
            world.flow_log.ended(session.record);
        }
    }

    /// Adds what applications that were asked have read so far, by flow.
    pub(crate) fn add_read(&self, by_flow: &mut [u64]) {
        for session in self.apps.sessions.values().filter(|s| s.record.role == Role::Server) {
            by_flow[session.record.flow] += session.record.read;
        }
    }

    /// Whether the process has let go of everything once its applications and listeners have.
    pub(crate) fn check_empty(&self) -> Result<(), String> {
        let name = self.index + 1;
        let endpoint = &self.endpoint;
        if !endpoint.is_idle() {
            let n = endpoint.connections();
            return Err(format!(
                "node {name} is left with {n} connections: {:?}",
                self.leftovers()
            ));
        }
        if let Some(at) = endpoint.poll_timeout() {
            return Err(format!("node {name} is left with a timer for {at:?}"));
        }
        if endpoint.wants_transmit() {
            return Err(format!("node {name} is left with something to send"));
        }
        let owned: Vec<_> = endpoint.ports().collect();
        if !owned.iter().eq(&self.claims) {
            return Err(format!("node {name} owns {owned:?} and has claimed {:?}", self.claims));
        }
        // SPEC PRP-PORT-3.
        if owned.len() > 64 {
            return Err(format!("node {name} is left with {} ports", owned.len()));
        }
        Ok(())
    }

    fn leftovers(&self) -> Vec<(Option<(PrpAddr, PrpAddr)>, prp_proto::state::State)> {
        let handles = self.endpoint.handles();
        handles.into_iter().map(|h| (self.endpoint.ends(h), self.endpoint.state(h))).collect()
    }
}
