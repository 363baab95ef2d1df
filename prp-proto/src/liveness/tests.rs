use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn config(ms: u64) -> LivenessConfig {
    LivenessConfig { interval: Duration::from_millis(ms), multiplier: 3 }
}

/// Two ends and a wire between them, which may be cut.
struct Pair {
    ends: [Session; 2],
    now: Instant,
    cut: bool,
    changes: Vec<(u64, usize, LivenessState)>,
}

impl Pair {
    fn new(a: u64, b: u64) -> Self {
        let now = Instant::ZERO;
        let ends = [Session::new(config(a), 7, now), Session::new(config(b), 8, now)];
        Self { ends, now, cut: false, changes: Vec::new() }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            for from in [0, 1] {
                if self.ends[from].handle_timeout(self.now) {
                    self.note(from);
                }
                while let Some(probe) = self.ends[from].poll(self.now) {
                    let probe = LivenessBlock::parse(&probe.emit()).unwrap();
                    if !self.cut && self.ends[1 - from].handle(self.now, &probe) {
                        self.note(1 - from);
                    }
                }
            }
            self.now = self.now + MS;
        }
    }

    fn note(&mut self, end: usize) {
        let at = self.now.as_nanos() / 1_000_000;
        self.changes.push((at, end, self.ends[end].state()));
    }

    fn states(&self) -> [LivenessState; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }
}

const UP: [LivenessState; 2] = [LivenessState::Up; 2];

//= PRP-LIVE-2, type=test
#[test]
fn session__comes_up_at_once_when_both_speak() {
    let mut pair = Pair::new(20, 20);
    pair.run(5);
    assert_eq!(pair.states(), UP, "{:?}", pair.changes);
    pair.changes.clear();
    pair.run(10_000);
    assert_eq!(pair.changes, [], "nothing happens while nothing happens");
}

//= PRP-LIVE-3, type=test
#[test]
fn session__silence_is_noticed_within_the_detection_time() {
    let mut pair = Pair::new(20, 20);
    pair.run(100);
    pair.cut = true;
    let cut = pair.now.as_nanos() / 1_000_000;
    pair.changes.clear();
    pair.run(200);
    assert_eq!(pair.states(), [LivenessState::Down; 2]);
    for (at, end, _) in &pair.changes {
        assert!((40..=60).contains(&(at - cut)), "end {end} after {} ms", at - cut);
    }
    pair.cut = false;
    pair.run(1_100);
    assert_eq!(pair.states(), UP);
}

//= PRP-LIVE-3, type=test
#[test]
fn session__the_slower_end_decides() {
    let mut pair = Pair::new(20, 100);
    pair.run(500);
    assert_eq!(pair.states(), UP);
    assert_eq!(pair.ends.each_ref().map(Session::detection), [300 * MS; 2]);
    pair.changes.clear();
    pair.run(5_000);
    assert_eq!(pair.changes, [], "probes come at 100 ms and nobody minds");
}

//= PRP-LIVE-4, type=test
#[test]
fn session__stopping_on_purpose_is_no_failure() {
    let mut pair = Pair::new(20, 20);
    pair.run(100);
    let farewell = pair.ends[0].farewell();
    assert!(pair.ends[1].handle(pair.now, &farewell));
    assert_eq!(pair.ends[1].state(), LivenessState::AdminDown);
    let mut quiet = pair.ends[1].clone();
    assert!(!quiet.handle_timeout(pair.now + Duration::from_secs(60)), "it stays like that");
    // It comes again with another number.
    pair.ends[0] = Session::new(config(20), 9, pair.now);
    pair.run(1_100);
    assert_eq!(pair.states(), UP);
}

#[test]
fn session__one_that_restarted_is_accepted_under_its_new_number() {
    let mut pair = Pair::new(20, 20);
    pair.run(100);
    pair.ends[0] = Session::new(config(20), 9, pair.now);
    pair.run(1_200);
    assert_eq!(pair.states(), UP, "{:?}", pair.changes);
}

#[test]
fn session__alone_asks_once_a_second() {
    let mut session = Session::new(config(20), 7, Instant::ZERO);
    let mut now = Instant::ZERO;
    let mut asked = 0;
    while now < Instant::ZERO + Duration::from_secs(10) {
        asked += usize::from(session.poll(now).is_some());
        assert!(!session.handle_timeout(now));
        now = session.next_timeout();
    }
    assert_eq!(asked, 10);
}

/// A probe as the other end, by its number 8, would send it to our session 7.
fn probe(state: LivenessState, yours: u32) -> LivenessBlock {
    let (interval_us, least_us) = (20_000, 20_000);
    LivenessBlock { state, multiplier: 3, passive: false, mine: 8, yours, interval_us, least_us }
}

//= PRP-LIVE-2, type=test
#[test]
fn handle__probes_that_make_no_sense_are_no_news_and_no_sign_of_life() {
    let wrong = [
        // For a session before we restarted, or of another node.
        probe(LivenessState::Up, 99),
        probe(LivenessState::Down, 99),
        // A router that does not know us cannot have heard us.
        probe(LivenessState::Init, 0),
        probe(LivenessState::Up, 0),
        LivenessBlock { mine: 0, ..probe(LivenessState::Down, 0) },
        LivenessBlock { multiplier: 0, ..probe(LivenessState::Down, 0) },
    ];
    let fresh = Session::new(config(20), 7, Instant::ZERO);
    let mut up = fresh.clone();
    assert!(up.handle(Instant::ZERO, &probe(LivenessState::Init, 7)));
    assert_eq!(up.state(), LivenessState::Up);
    for block in wrong {
        let mut session = fresh.clone();
        assert!(!session.handle(Instant::ZERO, &block), "{block:?}");
        assert_eq!(session.state(), LivenessState::Down, "{block:?}");
        let probe = session.poll(Instant::ZERO).expect("the first probe is due");
        assert_eq!(probe.yours, 0, "{block:?}: its number is not learnt");
        // Nor does it keep a session alive, or change how long one waits.
        let mut session = up.clone();
        assert!(!session.handle(Instant::ZERO + 59 * MS, &block), "{block:?}");
        assert_eq!(session.detection(), 60 * MS);
        assert!(session.handle_timeout(Instant::ZERO + 60 * MS), "{block:?}");
    }
}

fn arb_block() -> impl Strategy<Value = LivenessBlock> {
    let number = prop_oneof![Just(0u32), Just(7), Just(8), any::<u32>()];
    let (us, flag) = (any::<u32>(), any::<bool>());
    (0..4u8, any::<u8>(), flag, number.clone(), number, us, us).prop_map(
        |(state, multiplier, passive, mine, yours, interval_us, least_us)| LivenessBlock {
            state: LivenessState::from_code(state).unwrap(),
            multiplier,
            passive,
            mine,
            yours,
            interval_us,
            least_us,
        },
    )
}

proptest! {
    #[test]
    fn block__emits_and_parses_back(block in arb_block()) {
        prop_assert_eq!(LivenessBlock::parse(&block.emit()), Some(block));
    }

    /// Whatever comes: no panic, and time always goes on.
    #[test]
    fn session__survives_any_probes(blocks in proptest::collection::vec((arb_block(), 0..500u64), 0..50)) {
        let mut session = Session::new(config(20), 7, Instant::ZERO);
        let mut now = Instant::ZERO;
        for (block, pause) in blocks {
            session.handle(now, &block);
            now = now + Duration::from_millis(pause);
            session.handle_timeout(now);
            session.poll(now);
            prop_assert!(session.next_timeout() > now);
        }
    }

    #[test]
    fn block__any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
        let _ = LivenessBlock::parse(&bytes);
    }
}
