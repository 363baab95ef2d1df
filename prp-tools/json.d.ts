// What the commands of prp print with --json, as types of TypeScript.
//
// `?` marks a key that may be absent; the comment behind it says when it is there. The comment of a
// value that may be null says when it is null. New versions may add keys; one that changes or
// removes a key says so in the change log.

// Numbers whose keys have no unit in their names.
type seconds = number;
type bytes = number;
type frames = number;
type segments = number;
type datagrams = number;
type ratio = number;
type share = number; // part of 1

// Objects with one key for each of these.
type Transport = string; // prp, tcp, tcp_no_offload, tcp_no_segmentation, raw
type Reason = string; // of dropped frames; only reasons that have occurred

// ---- Connections and nodes

type PrpPing = OneNodeAsked | SeveralNodesAsked;

type OneNodeAsked = {
  node: number;
  name: string; // its number, and its name in prphosts
  sent: number;
  answered: number; // by the node itself
  lost_percent: number;
  duplicates: number; // answers to echoes that had one before
  seconds: number; // from the first echo to the end
  min_seconds: number | null; // round-trip times; null without answers
  mean_seconds: number | null;
  max_seconds: number | null;
  mdev_seconds: number | null; // standard deviation
  answers?: { // without -q; also those of routers
    sequence: number; // of the echo, from 1
    from: number;
    name: string;
    kind: "reply" | "hop_limit" | "no_route" | "too_big";
    routers: number; // that the answer has passed
    seconds: number;
    duplicate: boolean;
  }[];
};

type SeveralNodesAsked = {
  nodes: {
    node: number;
    name: string | null; // null: prphosts has none
    path: string | null; // device, "udp" or "unix", and the first router; null: no route
    routers: number | null; // null without an answer
    sent: number;
    answered: number;
    min_seconds: number | null; // null without answers
    mean_seconds: number | null;
    max_seconds: number | null;
    state: string; // "reached", "no answer", "no route", or what another node answered
  }[];
};

type PrpTrace = {
  node: number;
  name: string;
  reached: boolean; // the node itself has answered
  hops: { // the nearest first
    hop: number; // from 1
    answers: ({ // one for each echo; null without an answer
      node: number;
      name: string;
      seconds: number;
      no_route: boolean; // it has no route on
      no_route_cause: string | null; // a device or a router that is down, or no route
    } | null)[];
  }[];
};

type PrpStat = {
  hidden_processes: number; // that the kernel hides from this user, whether they use PRP or not
  processes: { // filters leave out connections and listeners, and no process
    pid: number;
    program: string;
    node: number;
    is_stale: boolean; // no answer within 0.5 s: this is what it said before
    is_stopped: boolean; // no answer since a signal or a debugger has stopped it
    hosts: string | null; // its prphosts; null: it has never answered
    counters: { // of all its connections, also those that are over
      frames_sent: frames;
      frames_received: frames;
      connected: number; // connections established that it asked for
      accepted: number; // connections established that peers asked for
      resets: number; // connections ended by a reset of either end
      refusals_sent: frames; // resets in answer to frames without a connection
      windows_limited: number; // times an advertised window was cut, all together being large
    };
    drops: Record<Reason, frames>;
    devices: {
      name: string; // "udp" for the sockets of UDP, "unix" for Unix sockets
      counters: DeviceCounters;
    }[];
    listeners: { // with -l or -a
      node: number;
      port: number;
      queue: number; // connections that wait to be accepted
      backlog: number; // that may wait
    }[];
    connections: Connection[];
  }[];
};

type DeviceCounters = Partial<UdpCounters> & { // those of UdpCounters on UDP
  overruns: frames; // lost: the receiving ring was full
  send_losses: frames; // not sent: a full queue, a device that is down, a refusal of the kernel
  refused_eperm?: frames; // of send_losses, by the kernel's error; once it has occurred
  refused_enxio?: frames;
  refused_eacces?: frames;
  refused_einval?: frames;
  refused_enosys?: frames;
  refused_eafnosupport?: frames;
  refused_eaddrnotavail?: frames;
  refused_enetdown?: frames;
  refused_enetunreach?: frames;
  refused_enobufs?: frames;
  refused_ehostunreach?: frames;
  refused_otherwise?: frames;
  too_big: frames; // larger than the device takes
  xdp_tx: frames; // sent by AF_XDP
  tcx_rx: frames; // put into memory of the process by the kernel's program
  other_vlan: frames; // not taken: of a VLAN that prphosts does not name of this device
};

type UdpCounters = {
  gso_batches_sent: number; // of at least two datagrams
  gso_batches_received: number;
  gso_batches_refused: number; // by the kernel; their datagrams were sent one by one
  gso_tests_failed: number;
  gso_withdrawn: number; // times that batches to a node were given up for a while
  truncated: datagrams; // longer than the buffer
  strangers: datagrams; // from addresses that prphosts does not list
  network_errors: number; // about what was sent
  handed_on: datagrams; // that came by the node's own port and its holder
  connects: number; // times a socket was connected to the process that sends most
  unaddressed: datagrams; // at the node's own port, for no process or router of the node
  too_short: datagrams;
  too_long: datagrams; // at the node's own port, too long to be handed on
  not_handed_on: datagrams; // at the node's own port, refused by the kernel
};

type Connection = {
  state: string; // ss's names
  local_node: number;
  local_port: number;
  peer_node: number;
  peer_port: number;
  role: "connected" | "accepted";
  receive_queue: bytes; // received and not read
  send_queue: bytes; // written and not acknowledged
  reliability: "detect" | "go-back-n" | "selective-repeat";
  underlay: "ethernet" | "udp" | "unix";
  device: string;
  congestion: string; // the controller
  mss: bytes; // payload of the largest segment sent now
  agreed_mss: bytes | null; // of the largest that both ends take; null: an earlier version
  crc: boolean;
  security: "off" | "sign" | "seal"; // what the cluster key does for it
  key_id: number | null; // the secret agreed on; null without one
  silent_seconds: number | null; // since a frame of the peer; null: an earlier version
  ends_in_seconds: number | null; // if the peer stays silent; null: no answer is due, or no limit
  blocked_by: string | null; // what keeps it from sending; null: nothing
  rtt_seconds: number | null; // smoothed round-trip time; null without a sample
  min_rtt_seconds: number | null;
  is_rtt_stale: boolean; // the peer owes an answer
  rto_seconds: number | null; // retransmission timeout; null if there is none
  in_flight: bytes; // sent and not acknowledged
  congestion_window: bytes;
  peer_window: segments; // that the peer has room for
  counters: {
    segments_sent: segments; // for the first time
    bytes_sent: bytes;
    retransmitted: segments;
    spurious: segments; // sent again without need
    timeouts: number;
    segments_received: segments;
    bytes_received: bytes; // handed over in order
    acks_sent: frames; // acknowledgements by themselves
    acks_received: frames;
    blocked_by_peer_window: number; // times that a segment had to wait for this
    blocked_by_congestion: number;
    blocked_by_pace: number;
    blocked_by_share: number; // of other connections to the same node
    blocked_by_short_end: number; // for the next write to fill the segment
    segment_reductions: number; // times segments became smaller: full ones did not get through
    dropped: frames;
  };
};

type PrpTop = { // one a line; rates are null in the first
  time: seconds; // since 1970, UTC
  seconds: number | null; // since the update before
  processes: number;
  stale_processes: number; // without an answer
  hidden_processes: number;
  totals: { // of the connections shown; frames, drops and new connections of all processes
    states: Record<string, number>;
    send_bits_per_second: number | null; // payload
    receive_bits_per_second: number | null;
    retransmitted_percent: number | null; // of segments sent; null: none
    frames_sent_per_second: number | null;
    frames_received_per_second: number | null;
    new_connections_per_second: number | null;
    resets_per_second: number | null;
    drops_per_second: Record<Reason, number>;
    min_rtt_seconds: number | null; // null without a sample
    median_rtt_seconds: number | null;
    max_rtt_seconds: number | null;
  };
  connections: (Connection & { // rates are null if the process did not answer
    pid: number;
    program: string;
    is_stale: boolean;
    send_bits_per_second: number | null;
    receive_bits_per_second: number | null;
    retransmitted_per_second: number | null; // segments
  })[];
};

type PrpDoctor = {
  faults: number;
  warnings: number;
  findings: { // faults first
    kind: FindingKind;
    severity: "fault" | "warning" | "note";
    cause: string;
    fix: string | null; // null: nothing is to be done
  }[];
};

type FindingKind =
  // This process and this machine
  | "privilege_raw" // no CAP_NET_RAW
  | "privilege_admin" | "privilege_bpf" // none, and what that costs
  | "seccomp" // a filter of system calls that refuses bpf(2), or ends the process there
  | "descriptors" // a limit below 256, or below 32
  | "variable" // a value without effect, a relative path
  | "clock" // it takes a system call
  | "fast_paths_off"
  | "prphosts" // all that prp hosts check finds
  | "run_dir" // other users may write there, so no process believes the router
  | "node_port" // its holder is stopped or hangs: over UDP requests to the node are lost
  // Devices
  | "mtu" // less than mtu= says, or no room for a datagram of 1200 bytes
  | "qdisc" // one that shapes or delays
  | "device_errors" | "ring_drops" | "half_duplex" | "speed" // below 1 Gbit/s
  | "one_queue" // frames that are not of IP come by the first alone
  | "filter" // a chain of nftables, or a place for filters of tc
  | "eee" | "interrupt_moderation" | "pause_frames" | "bond"
  | "governor" | "idle_states" // with --latency
  | "hypervisor" // its switch drops frames from other addresses than the machine's own
  | "wireless" | "cloud" // pass IP only: use UDP
  | "ethertype" // a protocol of the kernel takes the same one
  | "vlan"
  // The router and other processes here
  | "no_router" | "router" | "router_drops" | "router_hosts" | "router_silent"
  | "process_silent" | "peer_silent" | "process_drops" | "overruns" | "too_big" | "bad_crc" | "bad_source"
  | "repeats" // 5 % of the segments were sent again
  // The cluster key
  | "unsigned" | "unknown_key" | "bad_tag" // frames dropped
  | "key_file" // it cannot be read or is wrong: no program uses PRP here
  | "no_key" // a node answers only without the key
  | "node_key" // not readable, not that of prphosts, or missing for some nodes
  | "router_key" // prp-routed has none, or another one than the file
  // The path to a node
  | "route" // the node is not known
  | "no_answer" | "no_route" | "loop" | "loss"
  | "not_sent" // this machine's kernel refuses what is for the node
  | "duplicate_node" // echoes are answered twice
  | "mtu_hole" // large frames are lost on the path
  | "gso_batches_lost" | "gso_batches_refused"; // datagrams to the node go one by one

type PrpDump = { // one a line; numbers of nodes, ports and segments are null in what is no packet
  time: seconds; // since 1970, UTC
  device: string; // empty if a capture file does not say
  vlan: number | null; // null without a tag, or with that of VLAN 0
  underlay: "ethernet" | "udp" | "unix";
  source_address: string; // hardware address, or IP address with UDP port
  destination_address: string;
  bytes: number; // of the frame
  gso_batch: datagrams | null; // captured in one piece; null: its end was not captured
  source_node: number | null;
  destination_node: number | null;
  source_port: number | null;
  destination_port: number | null;
  kind: string; // as --kind takes it, with _ in place of -
  sequence: number | null; // as on the wire
  length: bytes | null; // of the payload
  hops: number | null; // routers passed
  echo: "echo" | "reply" | "hop_limit" | "no_route" | "too_big" | null; // null: no echo
  liveness: "admin-down" | "down" | "init" | "up" | null; // of its sender; null: no probe
  security: "off" | "sign" | "seal" | null; // null: no key, or begun before the capture
  key_id: number | null;
  key_epoch: number | null; // the low 8 bits; null outside connections
  key_frame: number | null; // the frame's number with its keys
  key_tag: "right" | "wrong" | "unchecked" | null; // with --key; unchecked if the files lack the key
};

// ---- Measurements

type Run = {
  command: string;
  settings: {
    node: string;
    wait: "block" | "spin" | "adaptive";
    rounds: number; // of each transport
  };
  ratios: Record<Transport, ratio>; // PRP's figure by the other's: median of the rounds' quotients
  client: Machine;
  server: Machine;
  stolen: share | null; // of the processor time, by a hypervisor; null: the kernel does not say
};

type Machine = {
  cpu: string;
  cores: number;
  kernel: string;
  version: string; // of prp
};

type Figure = {
  median: number; // of the rounds
  spread: ratio; // largest less smallest round, by the median
  noisy: boolean; // the rounds lie too far apart for small differences to mean something
  rounds: number[];
};

type Latencies = { // one way
  p50_us: Figure;
  p99_us: number; // of all samples of all rounds
  p999_us: number;
  min_us: number;
  samples: number;
  distribution: number[][]; // pairs: a part of all samples, and the us that they took at most
};

type Cost = { client: EndCost; server: EndCost };

type EndCost = {
  cpu_s: Figure; // processor seconds
  wake_ups: number; // times that a thread slept until something woke it
  frames_per_wake_up: ratio | null; // of TCP segments; null: it never slept
};

type Ends = { client: End; server: End };

type End = { // over all rounds
  received: bytes;
  cpu: { user: seconds; system: seconds }; // of latency without --beside: without thinking
  wake_ups: number;
  frames: { sent: frames; received: frames }; // of TCP segments of the network namespace
  retransmitted: segments;
  drops: Record<Reason, frames>;
  settings: { // of the last round
    segment?: string; // bytes; if a connection was open at the end
    reliability?: string; // of PRP
    crc?: string; // of PRP
    congestion?: string; // of TCP
    xdp_tx_frames?: string; // if there were any
    tcx_rx_frames?: string;
  };
};

type PrpPerfStream = Run & {
  settings: {
    each: { // of each stream and round
      seconds?: number; // without -n
      bytes?: number; // with -n
    };
    streams: number;
    bidir: boolean;
    reverse: boolean;
  };
  results: Record<Transport, {
    gbps: Figure;
    slowest_stream_gbps?: Figure; // with several streams
    fastest_stream_gbps?: Figure;
    intervals?: { // with -i
      begin: seconds; // since the first byte
      end: seconds;
      bytes: number;
      gbps: number;
      retransmitted?: segments; // if this end sends, but for raw frames
    }[];
    cpu_s_per_gb: number; // of both ends
    cost_per_gb?: Cost; // if anything arrived
    ends: Ends;
  }>;
};

type PrpPerfLatency = Run & {
  settings: {
    size: bytes;
    beside: number;
    think: seconds;
    think_busy: boolean;
    seconds: number; // for each transport
  };
  results: Record<Transport, Latencies & {
    beside_gbps?: Figure; // with --beside
    think_us?: number; // with --think: the mean
    cost_per_message?: Cost; // one way, without thinking; without --beside
    ends: Ends;
  }>;
};

type PrpPerfConnect = Run & {
  settings: { count: number };
  results: Record<Transport, { per_s: Figure; ends: Ends }>;
};

type PrpPerfSweep = Run & {
  settings: { seconds: number };
  results: Record<Transport, (Latencies & {
    size: bytes;
    gbps: number;
    cost_per_message: Cost;
    ends: Ends;
  })[]>;
};

type PrpPerfMesh = {
  command: "mesh";
  settings: { nodes: string[]; seconds: number };
  alone: Pair[];
  together: Pair[]; // without pairs that failed alone
  nodes: {
    node: string;
    alone_sends_gbps: number | null; // the best of its streams; null without one
    alone_receives_gbps: number | null;
    together_sends_gbps: number | null; // the sum of its streams
    together_receives_gbps: number | null;
    together_retransmitted: segments;
  }[];
  slow?: { // ports with less than half of the others' median, if there are any
    node: string;
    direction: "sends" | "receives";
    when: "alone" | "together";
    gbps: number;
    others_gbps: number;
  }[];
};

type Pair = {
  from: string;
  to: string;
  gbps: number | null; // null if it failed
  failed: string | null; // why; null if it did not
};

// ---- Files

type PrpHostsCheck = {
  ok: boolean;
  summary: string; // empty if the file cannot be used
  faults: CheckFinding[];
  notes: CheckFinding[];
};

type CheckFinding = {
  file: string; // or the folder
  line: number | null; // from 1; null: the whole file
  column: number | null;
  what: string;
  fix: string | null; // null: `what` says what was expected
  alike: number; // further pairs of nodes with the same fault for the same reason
};

type PrpHostsResolve = {
  node: number;
  names: string[]; // the first is the one shown
  next_hops: { // as in the file; null for other kinds of next hops
    mac: string | null;
    device: string | null;
    udp: string | null; // address and port
    unix: string | null; // folder
    via: number | null;
    metric: number; // lower is better
  }[];
  mtu: bytes | null; // null: the line has none
  file: string;
  line: number; // from 1
};

type PrpKeyList = {
  file: string;
  mode: "off" | "sign" | "seal";
  nodes: { node: number; mode: string }[]; // with a mode of their own
  keys: {
    id: number;
    fingerprint: string; // 16 hexadecimal digits
    in_use: boolean;
  }[];
};

type PrpKeyNodeList = { file: string; keys: string[] }; // public keys

// ---- The router

type PrpRoutedStatus = {
  node: number;
  name: string | null; // null: prphosts has none
  version: string;
  pid: number;
  uptime_seconds: number;
  hosts: string;
  nodes: number;
  reloads: number;
  last_error: string | null; // what is wrong with prphosts as it is now
  last_error_fix: string | null; // where more is needed than to correct the file
  troubles: string[];
  key_id: number | null; // the secret it signs with; null without one
  kernel_forwarding: {
    active: boolean;
    why_not: string | null; // null: it is active
    not_from: string[]; // devices
  };
  processes: number; // registered
  devices: {
    device: string;
    mac: string; // or its first UDP address
    mtu: bytes;
    received: frames;
    sent: frames;
    overruns: frames; // lost: the receiving ring was full
    dropped: frames; // the device took no more, or the kernel refused them
    refused: Record<string, frames>; // of those, by the kernel's error
    other_vlan: frames;
  }[];
  dropped: Record<string, frames>; // every reason
  udp?: UdpCounters; // on UDP
};

type PrpRoutedRoutes = {
  node: number;
  name: string | null;
  route: "local" | "via" | "none";
  next_hops: NextHop[]; // the best first
  why: string | null; // there is no route; null if there is one
}[];

type NextHop = {
  node: number;
  mac: string; // or its UDP address
  device: string;
  metric: number;
  mtu: bytes | null; // null: prphosts does not say
};

type PrpRoutedNeighbours = {
  node: number;
  name: string | null;
  device: string;
  mac: string; // or its UDP address
  usable: boolean; // frames are sent to it
  link_up: boolean;
  liveness: "down" | "init" | "up" | null; // of the session of probes; null: not probed
  routes: boolean; // other nodes are reached by it
  changes: number; // of usable
}[];

type PrpRoutedCounters = {
  forwarded_frames: frames;
  forwarded_bytes: bytes;
  forwarded_by_kernel: frames; // of those
  local_frames: frames; // for this node's control port
  echoes_answered: number;
  requests_refused: number; // no owner of the port, or no route
  connections_reset: number; // in the name of dead processes
  answers_suppressed: number; // beyond the limit
  dropped: Record<string, frames>; // every reason
  udp?: UdpCounters; // on UDP
};

type PrpRoutedMetrics = { // in the order of the text for Prometheus
  name: string;
  labels: Record<string, string>;
  value: number;
}[];

type PrpRoutedReload = {
  applied: boolean;
  changed: number; // nodes with other routes than before
  changes: { // the first 1,000
    node: number;
    before: NextHop[];
    after: NextHop[];
  }[];
};

// ---- Models

type PrpModelFit = Fit | { best: string; models: Fit[] }; // with --model | without, the best first

type Fit = {
  model: string;
  formula: string;
  points: number; // measurements
  parameters: Record<string, Estimate>;
  derived: Record<string, Estimate>;
  not_identified: string[];
  why_not_identified: Record<string, string>;
  aic: number; // less is better
  simpler: { model: string; aic: number } | null; // null: there is none
  scatter: share; // of the measured time
  breaks: {
    bytes: number;
    low: bytes; // the interval of 95 %
    high: bytes;
    step_seconds: number;
    seconds_a_byte_before: number;
    seconds_a_byte_after: number;
  }[];
  seed: number;
  resamples: number;
  does_not_see: string[];
};

type Estimate = {
  value: number;
  low: number | null; // the interval of 95 %; null without one
  high: number | null;
  unit: "s" | "s/B" | "B" | "B/s";
  means?: string; // the sum that the value stands for, where only that is told
};

type PrpModelPredict = PredictedByFit | PredictedByGraph;

type PredictedByFit = {
  model: string;
  seed: number;
  measured_bytes: bytes[]; // the smallest and the largest message
  predictions: {
    bytes: number;
    seconds: number;
    low: seconds | null; // the interval of 95 %; null without one
    high: seconds | null;
  }[];
  does_not_see: string[];
};

type PredictedByGraph = {
  predictions: {
    bytes: number;
    seconds: number; // until all messages are through
    messages: Record<string, { // by name
      seconds: number; // until it is received
      sending: seconds;
      receiving_least: seconds;
      receiving_most: seconds;
    }>;
  }[];
  shared?: { // with --processors
    wakes: number; // processes that have slept
    switches: number; // of a processor from one process to another
    a_of: string | null; // the formula of small messages; null: there is none
  };
  does_not_see: string[];
};

type PrpModelExplain = {
  model: string;
  bytes: number;
  hops: number; // routers
  seconds: number;
  terms: { name: string; seconds: number; share: share }[];
  dominant: string | null; // the largest term; null: there is none
  would_help: string[];
  does_not_see: string[];
};

type PrpModelCompare = ModelsCompared | GraphCompared | CollectivesCompared;

type ModelsCompared = {
  fitted_to: number; // measurements
  models: { // the best first
    model: string;
    median_error: share; // of the measured time
    largest_error: share;
    predicted: number; // settings
    does_not_see: string[];
  }[];
};

type GraphCompared = { // with --graph
  points: { bytes: number; measured: seconds; predicted: seconds }[];
  median_error: share;
  largest_error: share;
  does_not_see: string[];
};

type CollectivesCompared = { // with --collectives
  points: {
    pattern: string;
    processes: number;
    bytes: number;
    measured: seconds;
    predicted: seconds | null; // null: the pairs do not tell it
    error: share | null; // predicted by measured, less 1
    shared?: seconds; // with --processors: predicted for processes that share those
    shared_error?: share;
  }[];
  patterns: {
    pattern: string;
    median_error: share | null;
    largest_error: share | null;
    shared_median_error?: share;
    shared_largest_error?: share;
  }[];
  does_not_see: string[];
};

type PrpModelReduce = {
  messages: Record<string, Block & { // by name
    size: ratio; // by the size that is asked for
    step: number | null; // from 1; null: messages have no order
    sending: Block;
    receiving_least: Block;
    receiving_most: Block;
  }>;
  whole: Block & { // until all messages are through
    a_of?: string | null; // the formula, of an ordered graph; null: there is none
    b_of?: string | null;
  };
  units: { a: "s"; b: "s/B" };
  does_not_see: string[];
};

type Block = {
  a: seconds; // of a small message
  b: number; // seconds a byte of a large one
};

type PrpModelGain = Gain | MachinesCompared | BestProcessors;

type Gain = {
  speedup: ratio;
  speedup_hiding: ratio;
  gain: ratio;
  largest_gain: ratio;
  processors: number;
  ratio: ratio; // communication by calculation
  best_software: number | null; // granularity with the largest gain, instructions a byte
  best_hardware: number | null; // instructions
  does_not_see: string[];
};

type MachinesCompared = { // with --machine
  machines: {
    name: string;
    least_gain: ratio; // over the range of --software
    largest_gain: ratio;
    is_loss: boolean;
  }[];
  best: string | null; // with the largest least gain
  without_loss: string[];
  does_not_see: string[];
};

type BestProcessors = { // with --lambda
  lambda: number;
  up_to: number; // processors
  best_speedup: BestValue;
  best_speedup_hiding: BestValue;
  best_gain: BestValue;
  does_not_see: string[];
};

type BestValue = { processors: number; value: ratio };
