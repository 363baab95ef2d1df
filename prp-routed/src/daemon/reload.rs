//! Puts other routes in force, from one frame to the next.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use prp_device::{
    Framing, Interface, KernelDevice, PacketDevice, RouterFilter, UdpDevice, Underlay,
};
use prp_node::explained::Explanation;
use prp_node::hosts::FileVersion;
use prp_proto::device::Device;
use prp_proto::hosts::UDP_DEVICE;
use tracing::{info, warn};

use super::Daemon;
use super::loader::{Reading, ReloadRequest};
use crate::link::Link;
use crate::node_port::RouterNodePort;
use crate::privilege;
use crate::report::{Reloaded, Reply};
use crate::table::{Change, Table};

impl Daemon {
    /// prphosts has been read again: puts it in force unless something is wrong with it or all
    /// clients only asked.
    pub(super) fn loaded(&mut self, reading: Reading, requests: &[ReloadRequest]) {
        let apply = requests.iter().any(|request| matches!(request, ReloadRequest::Apply(_)));
        let Reading { version, table } = reading;
        let table = table.map_err(explain_reading).and_then(|table| self.compatible(table));
        let outcome = match table {
            Ok(table) => self.take(version, table, apply),
            Err(e) => {
                self.latest.wrong(version, &e);
                Err(e)
            }
        };
        match &outcome {
            Ok(changes) if apply => info!(changed = changes.len(), "prphosts read again"),
            Err(e) if apply => warn!("prphosts not put in force: {e}"),
            _ => {}
        }
        if apply {
            self.manager.ready(&self.summary());
        } else {
            self.manager.status(&self.summary());
        }
        for request in requests {
            let (client, applied) = match *request {
                ReloadRequest::Apply(Some(client)) => (client, true),
                ReloadRequest::Apply(None) => continue,
                ReloadRequest::DryRun(client) => (client, false),
                ReloadRequest::Status(client) => {
                    let status = self.status(self.clock.now());
                    self.service.answer(client, Reply::of(serde_json::to_value(status)));
                    continue;
                }
            };
            let reply = match &outcome {
                Ok(changes) => Reply::of(serde_json::to_value(Reloaded::new(applied, changes))),
                Err(e) => Reply::Error(format!("{e}\nthe routes so far stay in force")),
            };
            self.service.answer(client, reply);
        }
    }

    /// Compares `table`, which is right, with the one in force, and puts it in force if it is to be
    /// applied.
    fn take(
        &mut self,
        version: Option<FileVersion>,
        table: Table,
        apply: bool,
    ) -> io::Result<Vec<Change>> {
        let changes = self.table.changes(&table);
        if !apply {
            self.latest.right(version, table.file.hosts() != self.table.file.hosts());
            return Ok(changes);
        }
        match self.put_in_force(table) {
            Ok(()) => self.latest.put_in_force(version),
            Err(e) => {
                self.latest.refused(version, &e);
                return Err(e);
            }
        }
        Ok(changes)
    }

    /// What cannot change while it runs.
    fn compatible(&self, table: Table) -> io::Result<Table> {
        let (old, new) = (self.table.routes.local(), table.routes.local());
        let refuse = |what: String| {
            let explanation = Explanation {
                file: Some(table.file.path().to_owned()),
                cause: what,
                fix: Some("restart prp-routed, or undo that and `prp routed reload`".to_owned()),
                ..Explanation::default()
            };
            Err(explanation.into_error(io::ErrorKind::InvalidData))
        };
        if old != new {
            return refuse(format!("this machine would be node {new} and no longer {old}"));
        }
        let udp = |table: &Table| table.file.hosts().udp_addrs(old).first().map(|(addr, _)| *addr);
        if let (Some(old), new) = (udp(&self.table), udp(&table))
            && new != Some(old)
        {
            let new = new.map_or_else(|| "none".into(), |new| new.to_string());
            return refuse(format!("the UDP address would be {new} and no longer {old}"));
        }
        let (old, new) = (self.table.file.hosts().ethertype(), table.file.hosts().ethertype());
        if old != new {
            return refuse(format!("the EtherType would be {new:#06x} and no longer {old:#06x}"));
        }
        Ok(table)
    }

    /// All at once, between two frames; what can fail comes first.
    fn put_in_force(&mut self, table: Table) -> io::Result<()> {
        let added = table.devices[self.table.devices.len()..].to_vec();
        let before = std::mem::replace(&mut self.table, table);
        if let Err(e) = self.open_links(&added) {
            self.table = before;
            return Err(e);
        }
        let (hosts, routes) = (self.table.file.hosts(), &self.table.routes);
        let own = hosts.udp_addrs(routes.local()).first().map(|(_, addr)| *addr);
        self.router.set_routes(routes.clone(), hosts.udp_peers(), own);
        self.neighbours.follow(&self.table.routes, self.clock.now());
        self.follow_devices();
        self.link_news = true;
        self.reloads += 1;
        self.warn_of_troubles();
        Ok(())
    }

    /// Opens a socket on the node's first UDP address, and takes the router's part in its own port.
    fn open_udp(&self) -> io::Result<Option<(Device, UdpDevice, RouterNodePort)>> {
        let (hosts, local) = (self.table.file.hosts(), self.table.routes.local());
        let Some(&(own, addr)) = hosts.udp_addrs(local).first() else { return Ok(None) };
        let mut io = UdpDevice::open(&[own], false, hosts.udp_peers())?;
        let port = RouterNodePort::new(local, &mut io)?;
        Ok(Some((Device::new(addr, io.capabilities()), io, port)))
    }

    /// Opens a socket on each device of `added`, for routing.
    pub(super) fn open_links(&mut self, added: &[Interface]) -> io::Result<()> {
        let hosts = self.table.file.hosts();
        let filter = RouterFilter { node: self.table.routes.local(), steward: true };
        let mut opened = Vec::new();
        let mut node_port = None;
        for interface in added {
            if interface.name == UDP_DEVICE {
                let Some((ours, io, port)) = self.open_udp()? else { continue };
                let Some(fd) = io.fds().next() else { continue };
                let fd = fd.try_clone_to_owned()?;
                node_port = Some(port);
                opened.push((ours, fd, Link::new(UDP_DEVICE, Box::new(io))));
                continue;
            }
            let framing = Framing::of(hosts, &interface.name);
            let device =
                PacketDevice::open_for(interface, &framing).map_err(|e| explain(&e, interface))?;
            let ours = Device::new(interface.mac.into(), device.capabilities());
            let fd = device.as_fd().try_clone_to_owned()?;
            device.set_router_filter(&filter)?;
            let mut link = Link::new(&interface.name, Box::new(device));
            link.is_tagged = framing.tag().bytes().is_some();
            opened.push((ours, fd, link));
        }
        for (device, fd, link) in opened {
            self.router.forwarder.add_device(device, link.name());
            self.router.kernel.add(&link);
            self.poll_fds.push(fd);
            self.router.links.push(link);
        }
        self.router.node_port = node_port.or_else(|| self.router.node_port.take());
        Ok(())
    }
}

/// Names the user that may not read a file: perhaps not the one that started the daemon.
fn explain_reading(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let message = format!("{error}, as user {}: let that user read it", privilege::own_name());
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Says what is missing, and the remedy, where the kernel only refuses.
fn explain(error: &io::Error, interface: &Interface) -> io::Error {
    let name = &interface.name;
    let message = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => format!(
            "{name}: a packet socket needs CAP_NET_RAW: run as root, or see etc/prp-routed.service"
        ),
        _ => format!("{name}: opening a packet socket: {error}"),
    };
    io::Error::new(error.kind(), message)
}
