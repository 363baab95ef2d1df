//! Forwarding in the kernel: a program at each device, in front of the packet sockets, sends on at
//! once what needs no thought. All else comes up as it would without. `docs/routing.md` tells what
//! that is, and why nothing goes wrong.
//!
//! | module | noun |
//! | --- | --- |
//! | `program` | the program, as a commented listing |
//! | [`layout`] | the memory shared with it |
//! | `table` | what is written there |

pub mod layout;
mod program;
mod table;

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

use clap::ValueEnum;
use prp_device::{FrameHook, FrameProgram, SharedWords, device_of_socket};
use prp_proto::addr::DeviceId;
use prp_proto::forward::Forwarder;
use prp_proto::wire::ETHERNET_LEN;
use tracing::{info, warn};

use crate::link::Link;
use crate::report::KernelStatus;
use layout::{DEVICES, Layout};
use program::{AttachPoint, program};
pub use table::DeviceCounts;
use table::{Exit, SharedTable, half};

/// Whether the kernel is to forward what it can.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum KernelForwarding {
    /// Where it may and can.
    #[default]
    Auto,
    /// No.
    Off,
    /// Where it may not or cannot, the daemon does not start.
    Required,
}

/// The kernel's part in forwarding.
#[derive(Debug, Default)]
pub enum Kernel {
    /// It has none, as the settings say.
    #[default]
    Off,
    /// It has none, and why.
    Denied(String),
    /// It forwards.
    Works(KernelPath),
}

/// What it takes.
#[derive(Debug)]
pub struct KernelPath {
    words: SharedWords,
    layout: Layout,
    /// By [`DeviceId`].
    devices: Vec<ForwardingDevice>,
    /// What was published last.
    published: Option<u64>,
    /// Devices may have changed since.
    stale: bool,
}

/// A device.
#[derive(Debug)]
struct ForwardingDevice {
    name: String,
    /// While this lives the program runs for what the device receives.
    hook: Option<FrameHook>,
    exit: Option<Exit>,
}

impl Kernel {
    /// Gives the kernel the programs for `links`, the devices of `forwarder`, if `wanted`.
    ///
    /// # Errors
    /// If it is required: why it cannot be.
    pub fn start(
        wanted: KernelForwarding,
        forwarder: &Forwarder,
        links: &[Link],
    ) -> io::Result<Self> {
        if wanted == KernelForwarding::Off {
            return Ok(Self::Off);
        }
        match KernelPath::start(forwarder, links) {
            Ok(mut path) => {
                path.follow(forwarder, links);
                Ok(Self::Works(path))
            }
            Err(e) if wanted == KernelForwarding::Required => Err(io::Error::new(
                e.kind(),
                format!("kernel forwarding is required, and not to be had: {e}"),
            )),
            Err(e) => {
                info!("the kernel does not forward for this router: {e}");
                Ok(Self::Denied(e.to_string()))
            }
        }
    }

    /// A device is new. The privilege to put a program there is given up, so what it receives is
    /// forwarded in user space.
    pub fn add(&mut self, link: &Link) {
        if let Self::Works(path) = self {
            path.devices.push(ForwardingDevice {
                name: link.name().to_owned(),
                hook: None,
                exit: None,
            });
            path.stale = true;
            warn!(device = link.name(), "forwards in user space what it receives, until a restart");
        }
    }

    /// Devices may have lost their link, been removed and made again, or take other frames than
    /// before.
    pub fn devices_changed(&mut self) {
        if let Self::Works(path) = self {
            path.stale = true;
        }
    }

    /// Has the kernel forward as `forwarder` would from now on, if anything has changed.
    pub fn follow(&mut self, forwarder: &Forwarder, links: &[Link]) {
        if let Self::Works(path) = self {
            path.follow(forwarder, links);
        }
    }

    /// What it has forwarded, by device.
    pub fn counted(&self, device: usize) -> DeviceCounts {
        match self {
            Self::Works(path) => path.table().counted(device),
            Self::Off | Self::Denied(_) => DeviceCounts::default(),
        }
    }

    /// What it has forwarded altogether: frames and bytes.
    pub fn total(&self) -> DeviceCounts {
        (0..DEVICES).map(|device| self.counted(device)).fold(DeviceCounts::default(), |sum, one| {
            DeviceCounts {
                frames: sum.frames + one.frames,
                bytes: sum.bytes + one.bytes,
                sent: sum.sent + one.sent,
            }
        })
    }

    /// Whether it forwards.
    pub fn status(&self) -> KernelStatus {
        let denied =
            |why: &str| KernelStatus { why_not: Some(why.into()), ..KernelStatus::default() };
        match self {
            Self::Off => denied("kernel_forwarding is off"),
            Self::Denied(why) => denied(why),
            Self::Works(path) => {
                let left = path.devices.iter().filter(|device| device.hook.is_none());
                let not_from = left.map(|device| device.name.clone()).collect();
                KernelStatus { active: true, why_not: None, not_from }
            }
        }
    }
}

impl KernelPath {
    fn start(forwarder: &Forwarder, links: &[Link]) -> io::Result<Self> {
        let routes = forwarder.routes();
        let layout = Layout::for_cluster(routes.highest(), routes.neighbours().len());
        let words = SharedWords::new("prp_routed", layout.words()).map_err(explain)?;
        let mut devices = Vec::new();
        for (index, (link, device)) in links.iter().zip(forwarder.devices()).enumerate() {
            let exit = exit_of(link);
            // Only frames of an Ethernet device meet a program.
            let hook = match (exit.filter(|_| index < DEVICES), device.addr.mac()) {
                (Some(exit), Some(mac)) => {
                    let (device, ethertype) = (DeviceId(index as u16), forwarder.ethertype());
                    let point = AttachPoint { device, mac, ethertype };
                    let text = program(forwarder.local(), &point, &layout, words.number());
                    let program = FrameProgram::load("prp_routed", &text).map_err(explain)?;
                    Some(program.hook(exit.index).map_err(explain_hook)?)
                }
                _ => None,
            };
            devices.push(ForwardingDevice { name: link.name().to_owned(), hook, exit });
        }
        Ok(Self { words, layout, devices, published: None, stale: false })
    }

    fn table(&self) -> SharedTable<'_> {
        SharedTable { words: self.words.words(), layout: self.layout }
    }

    fn follow(&mut self, forwarder: &Forwarder, links: &[Link]) {
        let revision = Some(forwarder.revision());
        if std::mem::take(&mut self.stale) {
            let before: Vec<_> = self.devices.iter().map(|device| device.exit).collect();
            for (device, link) in self.devices.iter_mut().zip(links) {
                device.refresh(link);
            }
            if !self.devices.iter().map(|device| device.exit).eq(before) {
                self.published = None;
            }
        }
        if self.published != revision {
            let exits: Vec<_> =
                self.devices.iter().take(DEVICES).map(|device| device.exit).collect();
            self.table().put_in_force(&half(&self.layout, forwarder, &exits));
            self.published = revision;
        }
    }
}

impl ForwardingDevice {
    /// Updates what the device is now.
    fn refresh(&mut self, link: &Link) {
        let exit = exit_of(link);
        let number = |exit: &Option<Exit>| exit.map(|exit| exit.index);
        if number(&exit) != number(&self.exit) && self.hook.take().is_some() {
            // The kernel took the program away with the device.
            warn!(
                device = self.name,
                "is another one; forwards in user space what it receives, until a restart"
            );
        }
        self.exit = exit;
    }
}

/// What the device of `link` is, if it is there and the program can serve it.
fn exit_of(link: &Link) -> Option<Exit> {
    link.io.fds().next().filter(|_| !link.is_tagged).and_then(exit)
}

/// What the device is that `socket` is on, if it is there.
fn exit(socket: BorrowedFd<'_>) -> Option<Exit> {
    let (index, mtu) = device_of_socket(socket).ok()?;
    Some(Exit { index, longest: mtu as usize + ETHERNET_LEN })
}

/// Says what is missing where the kernel only says no.
fn explain(error: io::Error) -> io::Error {
    let why = match error.kind() {
        ErrorKind::PermissionDenied => "needs CAP_BPF and CAP_NET_ADMIN, and no user namespace",
        ErrorKind::Unsupported => "this kernel runs no programs (CONFIG_BPF_SYSCALL)",
        _ => return error,
    };
    io::Error::new(error.kind(), why)
}

fn explain_hook(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::InvalidInput {
        let why = "needs Linux 6.6, with CONFIG_NET_XGRESS";
        return io::Error::new(ErrorKind::Unsupported, why);
    }
    explain(error)
}

#[cfg(test)]
mod tests;
