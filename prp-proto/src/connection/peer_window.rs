//! The window that the peer states, and what follows from its size.

use super::Connection;
use crate::config::{ConnConfig, MAX_WINDOW};
use crate::device::Device;

impl Connection {
    /// The peer states a window of `window` segments.
    #[inline]
    pub(super) fn note_window(&mut self, window: u32) {
        self.send.window = window.min(MAX_WINDOW);
        // Over Ethernet a larger window than the usual one is slower, and rings do not hold it.
        if self.path.to.is_udp() && self.send.window > self.send.largest_window {
            self.send.largest_window = self.send.window;
            self.fit_send_buffer();
        }
    }

    /// Bytes of the largest window that the peer has stated over UDP. It states a small one until
    /// its application has accepted the connection, and whenever its reader is late.
    pub(crate) fn largest_window(&self) -> usize {
        self.send.largest_window as usize * usize::from(self.terms.mss)
    }

    /// Has a send buffer that may grow take as much at once as the peer does: less would be in
    /// flight otherwise. One of less than a usual window has been asked for, and stays so.
    fn fit_send_buffer(&mut self) {
        // What has grown for another reason is counted from the present size.
        if self.send_growth() > 0 || self.config.send_buffer < Device::WINDOW {
            return;
        }
        let window = self.largest_window().min(Device::MAX_WINDOW);
        let ConnConfig { send_buffer, send_buffer_max, .. } = &mut self.config;
        *send_buffer = (*send_buffer).max(window.min(*send_buffer_max));
        self.send.buf.raise_limit(self.config.send_limit());
    }
}
