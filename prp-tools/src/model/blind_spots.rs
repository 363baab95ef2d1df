//! What a model does not see: it follows every answer.

use prp_model::fit::Model;

/// Of every model of one message.
const ALWAYS: [&str; 3] = [
    "contention: other messages on the same links and processors",
    "incast: many senders to one receiver, whose queues overflow",
    "overlap: what a processor computes while a message is in flight",
];

/// What one model does not see, beside that.
fn own(model: Model) -> &'static str {
    match model {
        Model::Linear => "steps and bends: full frames, full windows, a rendezvous",
        Model::Prp => "messages of several frames, but for an effective bandwidth",
        Model::Packet => "packets of one message that are processed at the same time",
        Model::Hyperbolic => "steps; between both limits it is a quarter below a + b x",
        Model::LogP => "sizes: all messages are of one, and small",
        Model::LogGp => "what a byte costs the processors, and a rendezvous",
        Model::Blocks => "nodes that differ, and messages that do not begin together",
        Model::Shared => {
            "programs beside the pattern, and processes that poll or compute meanwhile"
        }
    }
}

/// All of it.
pub(super) fn spots(model: Model) -> Vec<String> {
    let sees_contention = matches!(model, Model::Blocks | Model::Shared);
    let contention = if sees_contention { &ALWAYS[1..] } else { &ALWAYS[..] };
    contention.iter().map(|&spot| spot.to_owned()).chain([own(model).to_owned()]).collect()
}

/// What a graph does not see.
pub(super) fn of_graph() -> Vec<String> {
    let own = [
        "messages that do not begin together: it has the most contention there can be",
        "an order of messages at a block: a small one is too long by a factor of two on average",
    ];
    ALWAYS[1..].iter().chain(&own).map(|&spot| spot.to_owned()).collect()
}

/// What the model of latency hiding does not see.
pub(super) fn of_gain() -> Vec<String> {
    let own = [
        "start-up times: messages are long",
        "contention, but for what the number of messages in turn says",
        "overlap, but for the part of the calculation that the fraction says",
        ALWAYS[1],
        "tasks that differ",
    ];
    own.map(str::to_owned).into()
}

/// As a line of a table.
pub(super) fn line(spots: &[String]) -> String {
    format!("does not see: {}", spots.join("; "))
}
