# All figures of bench-papers as JSON, from lines "LABEL KEY VALUE" (jq -Rn): a label names the part
# and the measured object. $gain_of has the gains that prp-model predicts by rows; $points has
# measured and predicted times of patterns; $machine describes the machine.
def median:
    sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
    else (.[length / 2] + .[length / 2 - 1]) / 2 end;
def round3: if . == null then null else . * 1000 | round / 1000 end;
def error($measured; $predicted):
    if $measured == null or $predicted == null then null
    else ($predicted / $measured - 1) * 100 | round3 end;

[inputs | split(" ") | {label: (.[0] | split("/")), key: .[1], value: (.[2] | tonumber)}] as $all
| def of($at; $key):
    [$all[] | select(.label == ($at | split("/")) and .key == $key) | .value] | median;
def labels($part): [$all[] | select(.label[0] == $part) | .label] | unique;
def predicted($pattern; $processes; $bytes):
    [$points[] | select(.pattern == $pattern and .processes == $processes
        and .bytes == ($bytes | round)) | .predicted * 1e6][0];

def early:
    [labels("early")[] | select(.[5] == "0") | .[1:5] as [$name, $size, $rate, $ranks]
        | "early/\($name)/\($size)/\($rate)/\($ranks)" as $at
        | of("\($at)/0"; "time_s") as $off | of("\($at)/1"; "time_s") as $on
        | {program: $name, ranks: ($ranks | tonumber), size: ($size | tonumber), rate: $rate,
           message_bytes: of("\($at)/0"; "message_bytes"), off_s: ($off | round3),
           on_s: ($on | round3), speedup: ($off / $on | round3)}]
    | sort_by([.program, .ranks, .size, .rate]);

def hiding:
    [labels("hiding")[] | .[1:3] as [$rows, $rate] | "hiding/\($rows)/\($rate)" as $at
        | of($at; "gain.form3") as $gain
        | {rows: ($rows | tonumber), rate: $rate, message_bytes: of($at; "message_bytes"),
           gamma: (of($at; "gamma") | round3), overhead: (of($at; "overhead") | round3),
           gain_a2: (of($at; "gain.form2") | round3), gain_a3: ($gain | round3),
           predicted_a3: ($gain_of[$rows] | round3),
           error_percent: error($gain; $gain_of[$rows])}]
    | sort_by(.rows);

def cnn:
    [[labels("cnn")[] | .[1]] | unique[] | . as $size | {size: ($size | tonumber)}
        + ([labels("cnn")[] | select(.[1] == $size)
            | {key: .[2], value: (of("cnn/\($size)/\(.[2])"; "mflops") | round3)}] | from_entries)]
    | sort_by(.size);

def patterns:
    [$points[] | select(.measured and (.pattern == "tree-broadcast" or .pattern == "flat-broadcast"
            or .pattern == "neighbours") and .from == "patterns")
        | {pattern, processes, bytes, measured_us: (.measured * 1e6 | round3),
           predicted_us: (.predicted * 1e6 | round3),
           error_percent: error(.measured; .predicted)}]
    | (map(.processes) | max) as $most | map(select(.processes == $most));

# An iteration has an exchange of edges, three sums, and a coarse problem, for which numbers go to
# rank 0 and come back.
def domain_decomposition:
    [labels("dd")[] | .[1] as $size | "dd/\($size)" as $at | of($at; "message_bytes") as $bytes
        | predicted("neighbours"; 4; $bytes) as $edges
        | (if $edges == null then null else $edges + 3 * predicted("reduction"; 4; 8)
            + 2 * predicted("flat-broadcast"; 4; 8) end) as $messages
        | {size: ($size | tonumber), bytes: $bytes,
           edges_us: (of($at; "edges_us.form2") | round3), predicted_edges_us: ($edges | round3),
           edges_error_percent: error(of($at; "edges_us.form2"); $edges),
           messages_us: (of($at; "messages_us.form1") | round3),
           predicted_messages_us: ($messages | round3),
           messages_error_percent: error(of($at; "messages_us.form1"); $messages)}]
    | sort_by(.size);

def multigrid:
    [labels("mg")[] | .[1] as $size | "mg/\($size)" as $at
        | of($at; "plane_bytes.form1") as $bytes
        | predicted("pairs"; 2; $bytes) as $alone | predicted("pairs"; 6; $bytes) as $together
        | of($at; "plane_us.form1.together") as $plane
        | {size: ($size | tonumber), bytes: $bytes, plane_us: (of($at; "plane_us.form1") | round3),
           predicted_alone_us: ($alone | round3), plane_together_us: ($plane | round3),
           predicted_together_us: ($together | round3),
           together_error_percent: error($plane; $together)}]
    | sort_by(.size);

{machine: $machine, early: early, hiding: hiding, cnn: cnn,
 models: {patterns: patterns, domain_decomposition: domain_decomposition, multigrid: multigrid}}
| with_entries(select(.key == "machine"
    or (.value | if type == "array" then length > 0 else any(.[]; length > 0) end)))
