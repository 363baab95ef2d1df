//! The agent of a node: starts its ranks, and passes on what they and the launcher say to each
//! other.

mod libraries;
mod limit;
mod pipes;
mod ranks;
mod request;

use std::io::{self, stdin, stdout};
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::control::{Frame, Topic};

use crate::signals;
pub(crate) use limit::Limit;
use ranks::Ranks;
pub(crate) use request::LaunchRequest;

/// Sends frames to the launcher.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launcher(Arc<Mutex<()>>);

impl Launcher {
    pub(crate) fn send(&self, frame: &Frame) {
        let _guard = self.0.lock();
        // A launcher that is gone is noticed where it is listened to.
        let _ = frame.write(&mut stdout());
    }
}

/// Does what the launcher says until it is gone.
pub(crate) fn run() -> io::Result<u8> {
    // A terminal sends its signals to agents, too, which have to live until their ranks have ended.
    signals::all().thread_block()?;
    let launcher = Launcher::default();
    launcher.send(&Frame::new(Topic::Ready, 0, []));
    let mut ranks: Option<Ranks> = None;
    // A stream that ends within a frame is at its end, too: the ranks are ended.
    while let Ok(Some(frame)) = Frame::read(&mut stdin()) {
        if frame.topic == Topic::Start {
            let order =
                LaunchRequest::from_content(&frame.content).ok_or(io::ErrorKind::InvalidData)?;
            let ranks = match &mut ranks {
                Some(ranks) => ranks,
                none => none.insert(Ranks::expect(&order, &launcher)?),
            };
            ranks.start(&order, &launcher);
            let first = order.first.number as usize;
            launcher.send(&Frame::new(Topic::Started, first, []));
            continue;
        }
        let Some(ranks) = &ranks else { continue };
        match frame.topic {
            Topic::Cards => ranks.send_to_job(&frame),
            Topic::Answer => ranks.send(&frame),
            Topic::RollCall => {
                ranks.send_all(&frame);
                ranks.name_stopped(&launcher);
            }
            Topic::Signal => ranks.signal(&frame),
            Topic::Input => ranks.feed(frame),
            _ => {}
        }
    }
    if let Some(ranks) = ranks {
        ranks.end();
    }
    Ok(0)
}
