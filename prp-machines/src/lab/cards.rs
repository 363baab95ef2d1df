//! Which card of a machine is for which cable.

use crate::failure::Outcome;
use crate::guest::SCRATCH;
use crate::lab::{Card, Lab, NodeNumber, NodePlace};

/// The hardware address of a node's card for a cable.
pub(crate) fn address(node: NodeNumber, cable: usize) -> String {
    format!("02:00:00:00:{cable:02x}:{node:02x}")
}

/// What QEMU calls it.
pub(crate) fn nic_id(node: NodeNumber, cable: usize) -> String {
    format!("nic{node}x{cable}")
}

/// Functions of the shell that need no other program: starting one takes a machine 0.1 s.
const FUNCTIONS: &str = r#"
# The name of the card with the address $1 among the devices of this namespace, in $card. Its module
# or its bus may still be busy with it. QEMU's tulip has its driver read the bytes of each pair in
# the other order: what the driver has read is in $address.
find_card() {
    local tries at a b c d e f
    IFS=: read -r a b c d e f <<<"$1"
    for ((tries = 0; tries < 600; tries++)); do
        for at in /sys/class/net/*; do
            [[ -e $at/device ]] || continue
            read -r address <"$at/address" || continue
            card=${at##*/}
            [[ $address != "$1" && $address != "$b:$a:$d:$c:$f:$e" ]] || return 0
        done 2>/dev/null
        sleep 0.1
    done
    echo "no card has the address $1: $(ip -br link | tr -s '\n ' '; ')"
    return 1
}
# Takes the card $card away from its module and gives it back: it is as after the start of the
# machine then, whatever a scene has set.
renew_card() {
    local device module
    cd -P "/sys/class/net/$card/device"
    device=${PWD##*/}
    cd -P driver
    module=$PWD
    cd "$OLDPWD"
    echo "$device" >"$module/unbind"
    echo "$device" >"$module/bind"
}
"#;

impl Lab {
    /// Loads the modules of the cards, which nothing else does.
    ///
    /// # Errors
    /// The kernel has no such module.
    pub(crate) fn load_modules(&mut self) -> Outcome {
        for number in 0..self.machines.len() {
            let own = self.nodes.iter().filter(|place| place.machine == number);
            let models = own.flat_map(|place| place.cards.iter().map(|card| card.model));
            let modules: Vec<_> = models.flat_map(|model| model.modules).copied().collect();
            if !modules.is_empty() {
                self.beside_machine(number, &format!("modprobe -a {}", modules.join(" ")))?;
            }
        }
        Ok(())
    }

    /// The script that renews the cards of a node and moves them into it, as `eth0` for its first
    /// cable and `eth1` for the second, not up yet.
    pub(super) fn fresh_cards(&self, place: &NodePlace) -> String {
        let renew =
            |card: &Card| format!("find_card {}\nrenew_card\n", address(place.node, card.cable));
        let renewals: String = place.cards.iter().map(renew).collect();
        format!("{FUNCTIONS}{renewals}{}", moves(place))
    }

    /// Moves cards of a node that have come back to the first namespaces into it again.
    ///
    /// # Errors
    /// A card is not there.
    pub(crate) fn move_cards(&mut self, node: NodeNumber) -> Outcome {
        let moves: String =
            self.nodes.iter().filter(|place| place.node == node).map(moves).collect();
        self.beside(node, &format!("{FUNCTIONS}{moves}")).map(drop)
    }

    /// Waits until a device of a node has a link.
    ///
    /// # Errors
    /// It gets none.
    pub(crate) fn wait_for_link(&mut self, node: NodeNumber, device: &str) -> Outcome {
        self.until(node, &has_link(device))
    }
}

/// The script that moves the cards of a node into it.
fn moves(place: &NodePlace) -> String {
    let NodePlace { node, cards, .. } = place;
    let one = |(number, card): (usize, &Card)| {
        let address = address(*node, card.cable);
        format!(
            "find_card {address}\nlines+=\"link set $card down\n\"\n\
             [[ $address == {address} ]] || lines+=\"link set $card address {address}\n\"\n\
             lines+=\"link set $card netns {SCRATCH}/{node}.net name eth{number}\n\"\n"
        )
    };
    let moves: String = cards.iter().enumerate().map(one).collect();
    format!("lines=\n{moves}ip -batch - <<<\"$lines\"")
}

/// A condition of the shell: whether a device has a link.
pub(super) fn has_link(device: &str) -> String {
    format!("read -r state </sys/class/net/{device}/carrier && ((state))")
}
