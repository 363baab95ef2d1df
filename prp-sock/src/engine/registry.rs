//! Finding the engine for a call, or making it.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use prp_node::fork::{self, PerProcess};
use prp_proto::addr::{DeviceId, NodeId};
use prp_proto::config::EndpointConfig;
use prp_proto::endpoint::{Device, Endpoint};
use prp_proto::hosts::Hosts;
use prp_proto::key::{Keyring, Member, Seed};
use prp_proto::route::RouteTable;

use super::control::ControlThread;
use super::core::Core;
use super::guard::CoreLock;
use super::keeper::Keeper;
use super::link_watch::LinkWatch;
use super::netns::NetworkNamespace;
use super::wake_fd::WakeFd;
use super::{Engine, exit, reopen};
use crate::clock::Clock;
use crate::sys::lock::Lock;
use crate::sys::random::random_bytes;
use crate::wait_fd;
use prp_device::{Underlay, factory};
use prp_node::{HostsFile, KeyWatch};

/// What makes two calls share an engine.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct EngineKey {
    /// That of the calling thread.
    netns: NetworkNamespace,
    hosts: PathBuf,
    node: Option<NodeId>,
    device: Option<String>,
    generation: u32,
}

impl EngineKey {
    /// The engine of this thread's network namespace for `hosts`; `node` and `device`, if given,
    /// overrule what prphosts and hardware addresses say.
    pub(crate) fn new(hosts: PathBuf, node: Option<NodeId>, device: Option<String>) -> Self {
        let netns = NetworkNamespace::current();
        Self { netns, hosts, node, device, generation: fork::generation() }
    }
}

static ENGINES: PerProcess<Lock<HashMap<EngineKey, Weak<Engine>>>> = PerProcess::new(Lock::default);

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// The engine for `key`, made if there is none.
pub(crate) fn engine_for(key: &EngineKey) -> io::Result<Arc<Engine>> {
    let mut engines = ENGINES.get().lock();
    if let Some(engine) = engines.get(key).and_then(Weak::upgrade) {
        return Ok(engine);
    }
    let engine = make(key)?;
    engines.insert(key.clone(), Arc::downgrade(&engine));
    exit::register();
    Ok(engine)
}

/// Enters an engine that was not made from prphosts, so that it delivers when the process exits.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn enlist(engine: &Arc<Engine>, name: &str) {
    let key = EngineKey::new(PathBuf::from(name), None, None);
    ENGINES.get().lock().insert(key, Arc::downgrade(engine));
    exit::register();
}

/// Ends an engine that is not in use; `false` if it is in use again, or there could not be another
/// one.
pub(super) fn retire(engine: &Arc<Engine>) -> bool {
    let mut engines = ENGINES.get().lock();
    let has_key = engine.lock().endpoint.keyring().is_some();
    let idle = Arc::strong_count(engine) == 1 && engine.lock().endpoint.is_idle();
    let key = engines.iter().find(|(_, e)| e.as_ptr() == Arc::as_ptr(engine)).map(|(key, _)| key);
    let idle = idle && key.is_none_or(|key| reopen::is_possible(&key.hosts, key.node, has_key));
    if idle {
        engines.retain(|_, other| other.as_ptr() != Arc::as_ptr(engine));
    }
    idle
}

/// Returns every engine of this process.
pub(crate) fn all() -> Vec<Arc<Engine>> {
    ENGINES.get().lock().values().filter_map(Weak::upgrade).collect()
}

fn make(key: &EngineKey) -> io::Result<Arc<Engine>> {
    let file = HostsFile::load(&key.hosts)?;
    let mut key_file = KeyWatch::in_force();
    // A key that cannot be had is told of before a node that cannot be found out.
    key_file.read()?;
    let links = LinkWatch::watch();
    let local = prp_device::local_node(&file, key.node)?;
    // Before anything is opened: where there is a key that cannot be had, nothing is sent.
    let keys = key_file.keyring(&file, local)?;
    let ethertype = file.hosts().ethertype();
    let mut names = Vec::new();
    let mut devices: Vec<Device> = Vec::new();
    let mut io: Vec<Box<dyn Underlay>> = Vec::new();
    for opened in factory::open(file.hosts(), local, key.device.as_deref())? {
        names.push(opened.name);
        devices.push(opened.device);
        io.push(opened.io);
    }
    let routes = routes(file.hosts(), local, key.device.as_deref(), |name| {
        names.iter().position(|known| known == name).map(|at| DeviceId(at as u16))
    });
    let config = EndpointConfig { ethertype, ..EndpointConfig::default() };
    let mut endpoint = Endpoint::new(config, routes, devices, random_bytes()?);
    if let Some(keys) = keys {
        protect(&mut endpoint, keys)?;
    }
    let engine = Engine::start(endpoint, io, names, key.device.clone())?;
    *engine.key.lock() = Some(key_file);
    engine.start_control(links)?;
    Ok(engine)
}

/// Puts `keyring` in force at `endpoint`, for connections from now on.
pub(super) fn protect(endpoint: &mut Endpoint, keyring: Keyring) -> io::Result<()> {
    if endpoint.keyring().is_some() {
        endpoint.set_keyring(keyring);
    } else {
        endpoint.set_member(Member::new(keyring, Seed::new(random_bytes()?)));
    }
    Ok(())
}

/// The routes of `hosts`, by the devices that `called` finds by their names, or by `only` one.
fn routes(
    hosts: &Hosts,
    local: NodeId,
    only: Option<&str>,
    called: impl Fn(&str) -> Option<DeviceId>,
) -> RouteTable {
    RouteTable::build(hosts, local, |name| called(only.unwrap_or(name)))
}

impl Engine {
    /// An engine that runs `endpoint` on `devices`, called `names`.
    pub(crate) fn start(
        endpoint: Endpoint,
        devices: Vec<Box<dyn Underlay>>,
        names: Vec<String>,
        only_device: Option<String>,
    ) -> io::Result<Arc<Self>> {
        wait_fd::prepare()?;
        #[cfg_attr(not(feature = "tracing"), allow(unused_mut, reason = "nothing is traced"))]
        let mut core = Core::new(endpoint, devices)?;
        #[cfg(feature = "tracing")]
        core.trace_connections(&names);
        let engine = Arc::new(Self {
            clock: Clock::start(),
            core: CoreLock::new(core),
            device_names: names,
            only_device,
            hosts: Lock::new(None),
            key: Lock::new(None),
            keeper: Keeper::new()?,
            control: ControlThread::new()?,
            leader_wake_fd: WakeFd::new()?,
            generation: fork::generation(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        });
        engine.start_keeper()?;
        Ok(engine)
    }

    /// Puts the routes of `file` in force, which is a new reading of prphosts.
    pub(crate) fn reload(&self, file: &HostsFile) {
        let local = self.local_node();
        if file.hosts().entry(local).is_some() {
            let only = self.only_device.as_deref();
            let routes = routes(file.hosts(), local, only, self.device_ids());
            self.lock().set_routes(routes, file.hosts().udp_peers());
            // There may be a choice of routes now.
            self.control.call();
        }
    }
}
