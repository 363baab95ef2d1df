//! What a process of another job has to know to reach one.

use std::fmt;
use std::io;
use std::str::FromStr;

use prp_sock::PrpAddr;

use crate::process::peers::Identity;
use crate::process::start::card::Secret;

/// A process, its machine, where it listens for other nodes, and the secret by which it knows
/// those that have this.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contact {
    identity: Identity,
    /// What tells the machine from others, without blanks.
    machine: String,
    /// Node and port; none where there is no PRP.
    address: Option<String>,
    secret: Secret,
}

impl Contact {
    pub(super) fn new(
        identity: Identity,
        machine: String,
        address: Option<PrpAddr>,
        secret: Secret,
    ) -> Self {
        Self { identity, machine, address: address.map(|address| address.to_string()), secret }
    }

    /// Whose contact it is.
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    pub(super) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    pub(super) const fn secret(&self) -> Secret {
        self.secret
    }
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, machine, address, secret } = self;
        write!(f, "{identity} {machine} {} {secret}", address.as_deref().unwrap_or("-"))
    }
}

impl FromStr for Contact {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut words = text.split(' ');
        let mut parse = || {
            let identity = words.next()?.parse().ok()?;
            let (machine, address) = (words.next()?.to_owned(), words.next()?);
            let secret = words.next()?.parse().ok()?;
            let address = (address != "-").then(|| address.to_owned());
            words.next().is_none().then_some(Self { identity, machine, address, secret })
        };
        parse().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no port's name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact__is_read_as_it_was_written() {
        let identity = Identity { job: 9, number: 4 };
        for address in [None, Some("2:40000".parse().unwrap())] {
            let contact = Contact::new(identity, "boot/net:[1]".into(), address, Secret::random());
            assert_eq!(contact.to_string().parse::<Contact>().unwrap(), contact);
            assert!(format!("{contact} x").parse::<Contact>().is_err());
        }
        assert!("".parse::<Contact>().is_err());
    }
}
