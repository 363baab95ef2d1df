//! What a machine is made of, and QEMU's arguments for it.

use std::env;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::failure::{Context, Outcome};
use crate::guest::ROOT_KEY;
use crate::kernel::Kernel;
use crate::lab::quote;
use crate::model::Model;

/// Names of sockets in the folder of a machine.
pub(super) const AGENT_SOCKET: &str = "agent.socket";
pub(super) const QMP_SOCKET: &str = "qmp.socket";

/// What the other end of a card's cable is.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub(crate) enum Cable {
    /// A hub within the machine, with its number.
    Hub(usize),
    /// Another machine: the sockets of this end and of that.
    Machine(PathBuf, PathBuf),
    /// A bridge of tap devices beside the machine, with its number: the only kind by which a card
    /// has several queues.
    Bridge(usize),
}

/// A network card.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// What QEMU calls it.
    pub(crate) id: String,
    /// Its model.
    pub(crate) model: &'static Model,
    /// Its hardware address.
    pub(crate) address: String,
    /// Where its frames go.
    pub(crate) cable: Cable,
}

/// A machine's parts.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    /// Processors.
    pub(crate) processors: u32,
    /// Memory, in MiB.
    pub(crate) memory: u32,
    /// Network cards.
    pub(crate) nics: Vec<Nic>,
    /// Whether the processor's own support is used, in place of emulation.
    pub(crate) kvm: bool,
    /// A folder with a system of its own, in place of the host's files.
    pub(crate) root: Option<PathBuf>,
}

impl Hardware {
    /// QEMU's arguments for a machine with `kernel`, its files in `folder`.
    pub(super) fn arguments(&self, kernel: &Kernel, folder: &Path) -> Outcome<Vec<String>> {
        let program = env::current_exe().context("this program")?;
        // `panic=-1` ends the machine at once, `loglevel=5` shows warnings. The kernel's check of
        // the timer counts its ticks, and panics where the host has other work.
        let root = self
            .root
            .as_ref()
            .map_or_else(String::new, |root| format!(" {ROOT_KEY}{}", root.display()));
        let kernel_arguments = format!(
            "console=ttyS0 loglevel=5 panic=-1 no_timer_check mitigations=off net.ifnames=0 \
             random.trust_cpu=on machines.program={} machines.modules={}{root}",
            program.display(),
            kernel.modules.display()
        );
        let file = |name: &str| folder.join(name).display().to_string();
        let socket =
            |id: &str, name: &str| format!("socket,id={id},path={},server=on,wait=off", file(name));
        let accelerator = if self.kvm { "kvm" } else { "tcg,thread=multi" };
        let pairs = [
            ("-accel", accelerator.to_owned()),
            // QEMU 7.2 may leave an address in the flags of a cmpxchg16b that another processor has
            // disturbed, and the kernel's allocator ends with a double fault. Without the
            // instruction the kernel uses none.
            ("-cpu", "max,-cx16".to_owned()),
            ("-smp", self.processors.to_string()),
            ("-m", self.memory.to_string()),
            ("-vga", "none".to_owned()),
            ("-display", "none".to_owned()),
            ("-kernel", kernel.image.display().to_string()),
            ("-initrd", file("initramfs")),
            ("-append", kernel_arguments),
            ("-serial", format!("file:{}", file("console.log"))),
            ("-chardev", socket("qmp", QMP_SOCKET)),
            ("-mon", "chardev=qmp,mode=control".to_owned()),
            ("-device", "virtio-serial-pci".to_owned()),
            ("-chardev", socket("agent", AGENT_SOCKET)),
            ("-device", "virtserialport,chardev=agent,name=agent".to_owned()),
            ("-device", "virtio-rng-pci".to_owned()),
            // Inodes of several file systems of the host would have the same numbers.
            (
                "-virtfs",
                "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
                    .to_owned(),
            ),
        ];
        let mut all: Vec<String> =
            ["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned).into();
        all.extend(pairs.into_iter().flat_map(|(key, value)| [key.to_owned(), value]));
        let mut buses: Vec<_> = self.nics.iter().filter_map(|nic| nic.model.bus).collect();
        buses.dedup();
        all.extend(buses.into_iter().flat_map(|bus| ["-device".to_owned(), bus.to_owned()]));
        for nic in &self.nics {
            all.extend(nic.arguments());
        }
        Ok(all)
    }

    /// A script that makes what the machine needs outside of it, in namespaces of its own, and then
    /// becomes QEMU with its arguments. QEMU ends with the process that has started it, however
    /// that ends.
    pub(super) fn preparation(&self) -> String {
        let become_qemu = "exec setpriv --pdeathsig KILL qemu-system-x86_64 \"$@\"";
        let taps = self.nics.iter().filter_map(|nic| match nic.cable {
            Cable::Bridge(number) => Some((&nic.id, number)),
            _ => None,
        });
        let mut script = String::new();
        for (id, bridge) in taps {
            script += &format!(
                "[[ -e /sys/class/net/b{bridge} ]] || ip link add b{bridge} type bridge forward_delay 0 mcast_snooping 0\n\
                 ip link set b{bridge} up\n\
                 ip tuntap add mode tap multi_queue vnet_hdr name {id}\n\
                 ip link set {id} master b{bridge}; ip link set {id} up\n"
            );
        }
        if script.is_empty() {
            return become_qemu.to_owned();
        }
        let user = if geteuid().is_root() { "" } else { "--user --map-root-user " };
        // `/sys` shows the devices of the namespace in which it was mounted.
        format!(
            "exec unshare {user}--net --mount bash -ec {} qemu \"$@\"",
            quote(&format!("mount -t sysfs sysfs /sys\n{script}{become_qemu}"))
        )
    }
}

impl Nic {
    fn arguments(&self) -> [String; 4] {
        let Self { id, model, address, cable } = self;
        let net = match cable {
            Cable::Hub(number) => format!("hubport,id={id}-net,hubid={number}"),
            Cable::Machine(own, other) => format!(
                "dgram,id={id}-net,local.type=unix,local.path={},remote.type=unix,remote.path={}",
                own.display(),
                other.display()
            ),
            Cable::Bridge(_) => {
                let queues = model.queues;
                format!("tap,id={id}-net,ifname={id},script=no,downscript=no,queues={queues}")
            }
        };
        let device = format!("{},id={id},netdev={id}-net,mac={address}", model.device);
        ["-netdev".to_owned(), net, "-device".to_owned(), device]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments__a_card_has_its_cable() {
        let model = Model::find("virtio-net-4").unwrap();
        let nic = |cable| {
            let (id, address) = ("n1".to_owned(), "02:00:00:00:00:01".to_owned());
            Nic { id, model, address, cable }.arguments().join(" ")
        };
        let device =
            "-device virtio-net-pci,mq=on,vectors=10,id=n1,netdev=n1-net,mac=02:00:00:00:00:01";
        assert_eq!(nic(Cable::Hub(3)), format!("-netdev hubport,id=n1-net,hubid=3 {device}"));
        assert!(nic(Cable::Bridge(0)).contains("ifname=n1,script=no,downscript=no,queues=4"));
        let sockets = nic(Cable::Machine("/a".into(), "/b".into()));
        assert!(sockets.contains("local.path=/a,remote.type=unix,remote.path=/b"));
    }
}
