//! Finding the engine for a call, or making it.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use prp_node::fork::{self, PerProcess};
use prp_proto::addr::{DeviceId, MacAddr, NodeId};
use prp_proto::config::EndpointConfig;
use prp_proto::endpoint::{Device, Endpoint};
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;

use super::control::ControlThread;
use super::core::Core;
use super::guard::CoreLock;
use super::keeper::Keeper;
use super::links::Links;
use super::netns::NetworkNamespace;
use super::wake_fd::WakeFd;
use super::{Engine, exit, reopen};
use crate::clock::Clock;
use crate::device::{FrameIo, Interface, PacketDevice, list_interfaces};
use crate::hosts::HostsFile;
use crate::sys::lock::Lock;

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

/// Devices that are waited for, at most: each costs two descriptors and a ring of a megabyte, and a
/// file for many machines may name many that this one will never have.
const MAX_ABSENT: usize = 8;

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

/// Lets an engine that nobody uses go; `false` if somebody has come meanwhile, or there could not
/// be another one.
pub(super) fn retire(engine: &Arc<Engine>) -> bool {
    let mut engines = ENGINES.get().lock();
    let idle = Arc::strong_count(engine) == 1 && engine.lock().endpoint.is_idle();
    let key = engines.iter().find(|(_, e)| e.as_ptr() == Arc::as_ptr(engine)).map(|(key, _)| key);
    let idle = idle && key.is_none_or(|key| reopen::is_possible(&key.hosts));
    if idle {
        engines.retain(|_, other| other.as_ptr() != Arc::as_ptr(engine));
    }
    idle
}

/// Every engine of this process.
pub(super) fn all() -> Vec<Arc<Engine>> {
    ENGINES.get().lock().values().filter_map(Weak::upgrade).collect()
}

fn make(key: &EngineKey) -> io::Result<Arc<Engine>> {
    let file = HostsFile::load(&key.hosts)?;
    let links = Links::watch();
    let found = list_interfaces()?;
    let local = local_node(&file, key.node, &found)?;
    let ethertype = file.hosts().ethertype();
    let wanted = |name: &str| match &key.device {
        Some(device) => device == name,
        None => file.hosts().devices().any(|d| d == name),
    };
    if let Some(device) = &key.device
        && !found.iter().any(|i| i.name == *device)
    {
        let message = format!("{device}: no such device on this machine");
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let mut names = Vec::new();
    let mut devices: Vec<Device> = Vec::new();
    let mut io: Vec<Box<dyn FrameIo>> = Vec::new();
    for interface in found.iter().filter(|i| i.loopback || wanted(&i.name)) {
        let device =
            PacketDevice::open(interface, ethertype).map_err(|e| explain(&e, &interface.name))?;
        names.push(interface.name.clone());
        devices.push(Device {
            mac: interface.mac,
            mtu: device.mtu(),
            loopback: interface.loopback,
        });
        io.push(Box::new(device));
    }
    for name in absent(&file, &found, key.device.as_deref()) {
        let device =
            PacketDevice::await_interface(name, ethertype).map_err(|e| explain(&e, name))?;
        names.push(name.to_owned());
        devices.push(Device { mac: MacAddr::ZERO, mtu: device.mtu(), loopback: false });
        io.push(Box::new(device));
    }
    let routes = routes(file.hosts(), local, &names, key.device.as_deref());
    let config = EndpointConfig { ethertype, ..EndpointConfig::default() };
    let endpoint = Endpoint::new(config, routes, devices, random_seed()?);
    let engine = Engine::start(endpoint, io, names, key.device.clone())?;
    engine.start_control(links)?;
    Ok(engine)
}

/// The devices of `file` that this machine has not, or not yet; none where there is an `only` one.
fn absent<'a>(
    file: &'a HostsFile,
    found: &'a [Interface],
    only: Option<&str>,
) -> impl Iterator<Item = &'a str> {
    let is_absent = |name: &&str| !found.iter().any(|interface| interface.name == *name);
    let named = file.hosts().devices().filter(is_absent);
    named.take(if only.is_some() { 0 } else { MAX_ABSENT })
}

fn routes(hosts: &Hosts, local: NodeId, names: &[String], only: Option<&str>) -> RouteTable {
    RouteTable::build(hosts, local, |name| {
        let name = only.unwrap_or(name);
        names.iter().position(|n| n == name).map(|at| DeviceId(at as u16))
    })
}

fn local_node(file: &HostsFile, wanted: Option<NodeId>, found: &[Interface]) -> io::Result<NodeId> {
    if let Some(node) = wanted {
        return if file.hosts().entry(node).is_some() {
            Ok(node)
        } else {
            Err(file
                .error(format!("this machine is to be node {node}, but {node} has no line here")))
        };
    }
    let is_local = |mac, _: &str| found.iter().any(|i| i.mac == mac);
    file.hosts().local_node(is_local).map_err(|e| file.error(e.to_string()))
}

/// Says what is missing, and how to mend it, where the kernel only says no.
fn explain(error: &io::Error, name: &str) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{name}: a packet socket needs CAP_NET_RAW: run as root, give the program the \
                 capability (setcap cap_net_raw+ep PROGRAM), or use a user namespace"
            ),
        ),
        _ => io::Error::new(error.kind(), format!("{name}: opening a packet socket: {error}")),
    }
}

fn random_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    let mut file = std::fs::File::open("/dev/urandom")?;
    io::Read::read_exact(&mut file, &mut seed)?;
    Ok(seed)
}

impl Engine {
    /// An engine that runs `endpoint` on `devices`, called `names`.
    pub(crate) fn start(
        endpoint: Endpoint,
        devices: Vec<Box<dyn FrameIo>>,
        names: Vec<String>,
        only_device: Option<String>,
    ) -> io::Result<Arc<Self>> {
        let core = Core::new(endpoint, devices)?;
        let engine = Arc::new(Self {
            clock: Clock::start(),
            core: CoreLock::new(core),
            device_names: names,
            only_device,
            hosts: Lock::new(None),
            keeper: Keeper::new()?,
            control: ControlThread::new()?,
            leader_wake_fd: WakeFd::new()?,
            generation: fork::generation(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        });
        engine.start_keeper()?;
        Ok(engine)
    }

    /// Reads prphosts again and puts its routes in force.
    pub(crate) fn reload(&self, file: &HostsFile) {
        let local = self.local_node();
        if file.hosts().entry(local).is_some() {
            let only = self.only_device.as_deref();
            let routes = routes(file.hosts(), local, &self.device_names, only);
            self.lock().set_routes(routes);
            // There may be a choice of ways now.
            self.control.call();
        }
    }
}
