//! One node: its endpoint, and what its applications are at.

use std::rc::Rc;

use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use prp_proto::config::EndpointConfig;
use prp_proto::endpoint::{Device, Endpoint};
use prp_proto::event::{Event, ListenHandle};
use prp_proto::hosts::Hosts;
use prp_proto::key::{KeyFile, Keyring, Member, Mode, Secret, Seed};
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;

use super::app::App;
use super::scene::Scene;
use super::seed;

/// The client node's index, and the server's.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

const PORTS: [Port; 2] = [Port::new(70), Port::new(80)];

/// Connections that may wait to be accepted: more than a scene can make.
const BACKLOG: usize = 16;

/// A node.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) endpoint: Rc<Endpoint>,
    /// Restarts so far.
    pub(super) incarnation: u8,
    pub(super) apps: Vec<App>,
    listener: Option<ListenHandle>,
}

fn number(node: usize) -> NodeId {
    NodeId::new(node as u16 + 1).expect("1 and 2 are nodes")
}

fn endpoint(node: usize, seed: [u8; 32]) -> Endpoint {
    let mac = MacAddr([2, 0, 0, 0, 0, node as u8 + 1]);
    let hosts = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n";
    let hosts = Hosts::parse(hosts.as_bytes()).expect("the text above is well formed");
    let routes = RouteTable::build(&hosts, number(node), |_| Some(DeviceId(0)));
    let device = Device::ethernet(mac, 1500);
    Endpoint::new(EndpointConfig::default(), routes, vec![device], seed)
}

impl Node {
    /// A node whose process has just started: the server listens, the client has asked for a
    /// connection, or both have.
    pub(super) fn start(scene: &Scene, node: usize, incarnation: u8, now: Instant) -> Self {
        let seed = if scene.wrap && incarnation == 0 {
            seed::near_wrap(node, scene.width())
        } else {
            seed::plain(node, incarnation)
        };
        let mut endpoint = endpoint(node, seed);
        if scene.key != Mode::Off {
            let keys = KeyFile::new(scene.key, 1, Secret::new([7; 32]));
            endpoint.set_member(Member::new(Keyring::new(&keys), Seed::new(seed)));
        }
        let mut apps = Vec::new();
        let mut listener = None;
        let config = scene.config(node);
        if node == SERVER && !scene.crossing {
            listener = endpoint.listen(PORTS[SERVER], BACKLOG, config).ok();
        } else {
            let other = 1 - node;
            let remote = PrpAddr::new(number(other), PORTS[other]);
            let conn = endpoint.connect(now, remote, Some(PORTS[node]), config, |_| true);
            let conn = conn.expect("the path is there and the port is free");
            apps.push(App::new(conn, node, incarnation, 0));
        }
        Self { endpoint: Rc::new(endpoint), incarnation, apps, listener }
    }

    /// The endpoint, to be changed: a copy of its own if other states share it.
    pub(super) fn endpoint(&mut self) -> &mut Endpoint {
        Rc::make_mut(&mut self.endpoint)
    }

    /// What a driver does after anything has happened: lets applications act, takes frames out.
    /// `idle` says that no frame waits to be received.
    ///
    /// # Errors
    /// What an application saw that it must not see.
    pub(super) fn pump(
        &mut self,
        scene: &Scene,
        node: usize,
        now: Instant,
        idle: bool,
    ) -> Result<Vec<Rc<[u8]>>, String> {
        let mut frames: Vec<Rc<[u8]>> = Vec::new();
        loop {
            self.serve(scene, node, now)?;
            let endpoint = Rc::make_mut(&mut self.endpoint);
            if idle {
                endpoint.handle_idle(now);
            }
            while let Some(event) = endpoint.poll_event() {
                if let Event::UnownedPort(unowned) = event {
                    endpoint.refuse(&unowned);
                }
            }
            while endpoint.poll_released_port().is_some() {}
            let mut batch = TransmitBatch::new(64, 1 << 20);
            if endpoint.poll_transmit(now, &mut batch) == 0 {
                return Ok(frames);
            }
            frames.extend((0..batch.len()).map(|i| endpoint.frame(&batch, i).concat().into()));
        }
    }

    /// Connections that wait to be accepted.
    pub(super) fn pending(&self) -> usize {
        self.listener.map_or(0, |listener| self.endpoint.pending(listener))
    }

    /// The application of the listener accepts what waits.
    pub(super) fn accept(&mut self, node: usize, now: Instant) {
        let endpoint = Rc::make_mut(&mut self.endpoint);
        if let Some(listener) = self.listener {
            while let Some(conn) = endpoint.accept(now, listener) {
                self.apps.push(App::new(conn, node, self.incarnation, self.apps.len()));
            }
        }
    }

    fn serve(&mut self, scene: &Scene, node: usize, now: Instant) -> Result<(), String> {
        if !scene.accepts_late {
            self.accept(node, now);
        }
        let endpoint = Rc::make_mut(&mut self.endpoint);
        let expected = scene.segments[1 - node];
        self.apps.iter_mut().try_for_each(|app| app.read(endpoint, now, expected, scene.length))
    }
}
