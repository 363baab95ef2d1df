//! Events of the crate `tracing`: connections begin, change their path and end.
//!
//! A subscriber is code that is not ours, and may use a stream, so an event waits with the wakers
//! until the engine's lock is free.

use std::sync::Arc;

use prp_proto::endpoint::{ConnectionTrace, TracePoint};
use prp_proto::error::ConnError;

use super::core::Core;

/// What subscribers filter by.
const TARGET: &str = "prp::connection";

/// An event that is still to be told.
#[derive(Debug)]
pub(super) struct ConnectionEvent {
    trace: ConnectionTrace,
    device_names: Arc<[String]>,
}

impl ConnectionEvent {
    /// Emits it to the subscriber of this thread. Not to be called under the engine's lock.
    pub(super) fn emit(&self) {
        let ConnectionTrace { point, local, remote, is_server, device, next_hop } = self.trace;
        let device = self.device_names.get(usize::from(device.0)).map_or("", String::as_str);
        let role = if is_server { "accepted" } else { "connected" };
        macro_rules! trace_event {
            ($level:ident, $($rest:tt)+) => {
                tracing::$level!(
                    target: TARGET, %local, peer = %remote, role, device, %next_hop, $($rest)+
                )
            };
        }
        match point {
            TracePoint::Began => trace_event!(debug, "connection began"),
            TracePoint::PathChanged => trace_event!(info, "connection changed its path"),
            TracePoint::Ended(None) => trace_event!(debug, reason = "closed", "connection ended"),
            TracePoint::Ended(Some(ConnError::Aborted)) => {
                trace_event!(debug, reason = "aborted", "connection ended");
            }
            TracePoint::Ended(Some(error)) => {
                trace_event!(warn, reason = error.reason(), %error, "connection ended");
            }
            TracePoint::Failed(ConnError::Aborted) => {
                trace_event!(debug, reason = "aborted", "connection failed");
            }
            TracePoint::Failed(error) => {
                trace_event!(warn, reason = error.reason(), %error, "connection failed");
            }
        }
    }
}

impl Core {
    /// Emits events from now on. The devices are called `names`.
    pub(super) fn trace_connections(&mut self, names: &[String]) {
        self.endpoint.trace_connections();
        self.device_names = names.into();
    }

    /// Has what happened to connections emitted when the lock is let go.
    pub(super) fn note_connection_events(&mut self) {
        while let Some(trace) = self.endpoint.poll_connection_trace() {
            // A subscriber does not outlive the handlers of an exiting process.
            if !self.lifetime.gone {
                let device_names = self.device_names.clone();
                self.waiting.calls.emit_later(ConnectionEvent { trace, device_names });
            }
        }
    }
}

#[cfg(test)]
mod tests;
