//! Where PRP differs from TCP on purpose.

/// A difference by design.
pub(crate) struct Difference {
    /// The behaviour in which it occurs.
    pub(crate) behaviour: &'static str,
    /// The step.
    pub(crate) step: &'static str,
    /// The outcome over TCP.
    pub(crate) tcp: &'static str,
    /// The outcome over PRP.
    pub(crate) prp: &'static str,
    /// The reason.
    pub(crate) reason: &'static str,
}

/// All differences. An entry that occurs in no run is an error.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        behaviour: "read__zero_bytes",
        step: "server reads zero bytes of none",
        tcp: "Err(WouldBlock 11)",
        prp: "Ok(\"\")",
        reason: "reading into an empty buffer gives Ok(0), as std::io::Read has it; Linux waits for data",
    },
    Difference {
        behaviour: "read__zero_bytes",
        step: "server peeks at zero bytes of none",
        tcp: "Err(WouldBlock 11)",
        prp: "Ok(0)",
        reason: "as reading",
    },
    Difference {
        behaviour: "shutdown__reading_then_data",
        step: "client reads what came",
        tcp: "Ok(\"later\")",
        prp: "Ok(\"\")",
        reason: "who reads no more gets no more, and need not be waited for: what comes is acknowledged \
                 and thrown away; Linux keeps it, and other systems differ",
    },
    Difference {
        behaviour: "reset__addresses_after",
        step: "server's peer",
        tcp: "Err(NotConnected 107)",
        prp: "Ok(\"known\")",
        reason: "a stream knows whom it was connected to, for the message about its end",
    },
    Difference {
        behaviour: "reset__addresses_after",
        step: "server's peer after reading",
        tcp: "Err(NotConnected 107)",
        prp: "Ok(\"known\")",
        reason: "as before reading",
    },
    Difference {
        behaviour: "accept__of_a_connection_that_was_reset",
        step: "server reads from the first",
        tcp: "Err(ConnectionReset 104)",
        prp: "Ok(\"second\")",
        reason: "a connection that was reset before it was accepted is not offered any more; nobody could \
                 do anything with it",
    },
];

/// The differences of one behaviour.
pub(crate) fn of(behaviour: &str) -> impl Iterator<Item = &'static Difference> {
    DIFFERENCES.iter().filter(move |d| d.behaviour == behaviour)
}
