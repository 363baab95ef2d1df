//! The four states of the paper and every transition between them (paper section 2.4; SPEC
//! PRP-STATE-1 to 3).
//!
//! ```text
//!             Listen                         Request
//!   LISTEN <----------- CLOSE ------------------------------> CONN_WAIT
//!                       ^  |                                      |
//!      Finish, Reset,   |  | Creq (a child of the listener)       | Cack
//!      Abort, Timeout   |  v                                      v
//!                    ESTABLISHED { send: Open > Closing > Closed, receive: Open > Closed }
//! ```

/// The state of a connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Hash)]
pub enum State {
    /// No connection, or no longer one.
    #[default]
    Close,
    /// A request is out and unanswered.
    ConnWait,
    /// Takes requests on its port.
    Listen,
    /// Both ends know each other; each direction closes on its own.
    Established {
        /// What we may still send.
        send: SendSide,
        /// What may still come.
        receive: ReceiveSide,
    },
}

/// The sending direction of an established connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum SendSide {
    /// Data may be written.
    Open,
    /// The end was announced or is about to be, and is not acknowledged yet.
    Closing,
    /// The peer has everything, the end included.
    Closed,
}

/// The receiving direction of an established connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum ReceiveSide {
    /// Data may come.
    Open,
    /// The peer's EOC has arrived in order.
    Closed,
}

/// What can happen to a connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum StateEvent {
    /// The application listens.
    Listen,
    /// The application connects: CREQ goes out.
    Request,
    /// CREQ arrived.
    Creq,
    /// The CACK we wait for arrived.
    Cack,
    /// The application writes no more.
    Shutdown,
    /// The peer has acknowledged our EOC.
    EocAcked,
    /// The peer's EOC arrived in order.
    Eoc,
    /// Both directions are closed and no peer needs a repeated acknowledgement.
    Finish,
    /// A credible RST arrived.
    Reset,
    /// The application gives the connection up.
    Abort,
    /// The peer was silent for too long.
    Timeout,
}

impl StateEvent {
    /// Every event, for tables.
    pub const ALL: [Self; 11] = [
        Self::Listen,
        Self::Request,
        Self::Creq,
        Self::Cack,
        Self::Shutdown,
        Self::EocAcked,
        Self::Eoc,
        Self::Finish,
        Self::Reset,
        Self::Abort,
        Self::Timeout,
    ];
}

/// The answer to an event.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Transition {
    /// A new state.
    To(State),
    /// The event says nothing new here: a duplicate, or too late to matter.
    NoOp,
    /// The event makes no sense here. From the wire: a counted drop. From our own code: a bug.
    Invalid,
}

impl State {
    /// ESTABLISHED with both directions open.
    pub const OPEN: Self = Self::Established { send: SendSide::Open, receive: ReceiveSide::Open };

    /// What `event` does in this state.
    pub const fn on(self, event: StateEvent) -> Transition {
        use StateEvent as E;
        use Transition::{Invalid, NoOp, To};
        match (self, event) {
            (Self::Close, E::Listen) => To(Self::Listen),
            (Self::Close, E::Request) => To(Self::ConnWait),
            (Self::Close, E::Creq) => To(Self::OPEN),
            (Self::Close, E::Reset | E::Abort | E::Timeout | E::Finish) => NoOp,

            // A request to a listener makes a child; the listener itself stays.
            (Self::Listen, E::Creq) => NoOp,
            (Self::Listen, E::Abort) => To(Self::Close),

            (Self::ConnWait, E::Cack) => To(Self::OPEN),
            // The peer asks as well: it is answered, and so will we be.
            (Self::ConnWait, E::Creq) => NoOp,
            (Self::ConnWait, E::Reset | E::Abort | E::Timeout) => To(Self::Close),

            (Self::Established { .. }, E::Reset | E::Abort | E::Timeout) => To(Self::Close),
            // Repeated handshake frames are answered again, not acted upon.
            (Self::Established { .. }, E::Creq | E::Cack) => NoOp,
            (Self::Established { send, receive }, event) => Self::half(send, receive, event),

            (Self::Close | Self::Listen | Self::ConnWait, _) => Invalid,
        }
    }

    /// Half-close: the events that touch one direction only.
    const fn half(send: SendSide, receive: ReceiveSide, event: StateEvent) -> Transition {
        use StateEvent as E;
        use Transition::{Invalid, NoOp, To};
        match (event, send, receive) {
            (E::Shutdown, SendSide::Open, _) => {
                To(Self::Established { send: SendSide::Closing, receive })
            }
            (E::Shutdown, ..) => NoOp,
            (E::EocAcked, SendSide::Closing, _) => {
                To(Self::Established { send: SendSide::Closed, receive })
            }
            (E::EocAcked, SendSide::Closed, _) => NoOp,
            (E::Eoc, _, ReceiveSide::Open) => {
                To(Self::Established { send, receive: ReceiveSide::Closed })
            }
            (E::Eoc, _, ReceiveSide::Closed) => NoOp,
            (E::Finish, SendSide::Closed, ReceiveSide::Closed) => To(Self::Close),
            _ => Invalid,
        }
    }

    /// Whether data may still be written.
    pub const fn can_send(self) -> bool {
        matches!(self, Self::Established { send: SendSide::Open, .. })
    }

    /// Whether the peer may still send data.
    pub const fn can_receive(self) -> bool {
        matches!(self, Self::Established { receive: ReceiveSide::Open, .. })
    }

    /// Whether both directions are closed and acknowledged.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Established { send: SendSide::Closed, receive: ReceiveSide::Closed })
    }
}

#[cfg(test)]
mod tests;
