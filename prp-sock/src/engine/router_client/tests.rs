use std::os::unix::net::UnixStream;

use prp_node::DownHop;
use prp_proto::addr::MacAddr;
use prp_proto::route::HopUse;

use super::*;
use crate::testing::Pair;

/// A time that has passed must not be the next one to wait for: the thread would not sleep again.
#[test]
fn poll__a_router_that_says_nothing_does_not_keep_the_thread_busy() {
    let pair = Pair::new();
    let (ours, _router) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut client = RouterClient::new();
    client.link = Some(CloseOnFork::new(Registration::new(ours)));
    client.down = DownHops(vec![DownHop {
        device: "eth0".into(),
        station: MacAddr([2; 6]).into(),
        hop_use: HopUse::LastResort,
    }]);
    client.forget_at = Some(Instant::ZERO);
    assert_eq!(client.poll(pair.alpha.engine()), None);
    assert_eq!(client.down, DownHops::default(), "what the last router said is forgotten");
}
