# The page of the papers' figures, in Markdown, from the merged figures (jq -r). A string that ends
# with a line break ends with an empty line on the page.
def cell: if . == null then "-" else tostring end;
def line: "| " + (map(cell) | join(" | ")) + " |";
# rows($head; $keys): a table of the objects in the input.
def rows($head; $keys):
    ($head | line), ($head | map("---") | line), (.[] as $row | $keys | map($row[.]) | line), "";
def mean: if length == 0 then null else add / length * 1000 | round / 1000 end;
def verdict($name; $value; $bar; $reach):
    [$name, $value, "at least \($bar)", $reach,
     (if $value == null then "not measured" elif $value >= $reach then "met, and the reach"
      elif $value >= $bar then "met" else "**missed**" end)];
def verdict_most($name; $value; $bar; $reach):
    [$name, $value, "at most \($bar)", $reach,
     (if $value == null then "not measured" elif $value <= $reach then "met, and the reach"
      elif $value <= $bar then "met" else "**missed**" end)];
def small: [.cnn[]? | select(.size <= 32)];
def near_one: [.hiding[]? | select(.gamma >= 0.8 and .gamma <= 1.25)];
def largest_error: [.hiding[]?.error_percent | select(. != null) | fabs] | max;
def order:
    .mpi.latency_us // {} | [.mpich3["64"], .mpich_prp["64"], .prp_mpi["64"]]
    | if any(.[]; . == null) then null elif .[0] > .[1] and .[1] > .[2] then 1 else 0 end;
def over($a; $b): map(select(.[$a] and .[$b]) | .[$a] / .[$b]) | mean;

def bars:
    [verdict("early release, best speedup"; [.early[]?.speedup] | max; 1.3; 1.6),
     verdict("early release, mean speedup"; [.early[]?.speedup] | mean; 1.1; 1.2),
     verdict("gain of A.3 over A.1 at a granularity of 0.8 to 1.25";
        [near_one[].gain_a3] | max; 1.5; 1.8),
     verdict_most("gain of A.3, largest error of the prediction in percent";
        largest_error; 15; 5),
     verdict("CNN up to 32 points a side, prp-mpi / MPICH 3 over TCP";
        small | over("prp_mpi"; "mpich3"); 2.0; 3.0),
     verdict("CNN up to 32 points a side, prp-mpi / MPICH over TCP";
        small | over("prp_mpi"; "mpich"); 2.0; 3.0),
     verdict("order of Table 2 at 64 bytes holds (1) or not (0)"; order; 1; 1)];

def latency($name; $who):
    .mpi as $mpi | [$name] + (["0", "64", "1024", "1484"] | map($mpi.latency_us[$who][.]))
    + [$mpi.bandwidth_mbps[$who]["1048576"]];
def table_2:
    [latency("MPI + TCP/IP (MPICH 5)"; "mpich"), latency("MPI + TCP/IP (Open MPI 5)"; "openmpi"),
     latency("MPI + TCP/IP (MPICH 3)"; "mpich3"),
     latency("MPI + PRP (MPICH 3)"; "mpich_prp"), latency("MPIPR (prp-mpi)"; "prp_mpi")];
def picture($file; $what): "![\($what)](papers/\($file).svg)", "";
def plain($head): ($head | line), ($head | map("---") | line), (.[] | line), "";

"# The papers' figures

`netns-scripts/bench --papers` and `bench --mpi` measure these figures, and `bench --papers --page`
makes this page of them. Nodes are network namespaces of one machine, joined by virtual links whose
rate is limited where a table says so: **no figure is of a network card**. Figures are medians of
the rounds. [Applications](applications.md) has the programs and the papers.

The machine: \(.machine.cpu), \(.machine.cores) processors, Linux \(.machine.kernel),
\(.machine.date).

| bar | figure | at | reach for | |
| --- | --- | --- | --- | --- |",
(bars[] | line),
"",
(select(.mpi) | "## Latency of messages (PRP, Table 2)

Half a round trip by `MPI_Isend` and `MPI_Recv`, in microseconds, at MTU 1500; MB/s of 1 MiB
without TCP's offloads. MPICH 3 runs over TCP, and
[over PRP](applications.md#mpi-simply-adapted-to-prp).
",
    (table_2 | plain(["", "0 bytes", "64", "1024", "1484", "MB/s at 1 MiB"]))),
(select(.cnn) | "## Cellular neural network (PRP, figure 2)

Mflop/s of two ranks by the side of the lattice, without a limit of the rate. With two ranks both
neighbours are the same rank, and prp-mpi sends both rows in
[one segment](mpi.md#messages-that-leave-together); the paper has four nodes.
",
    (.cnn | rows(["side", "prp-mpi", "MPICH 3 over PRP", "MPICH 3", "MPICH 5", "Open MPI 5"];
        ["size", "prp_mpi", "mpich_prp", "mpich3", "mpich", "openmpi"])),
    picture("cnn"; "Mflop/s by the side of the lattice")),
(select(.early) | "## Early release (figure 4)

Seconds with and without the early release of receives, a rank on each node, on links of the rate.
Four ranks share two processors. Messages of less than 32 KiB are never released early: their rows
show what differs by chance.
",
    (.early | rows(["program", "ranks", "size", "rate", "bytes of a message", "off, s", "on, s", "speedup"];
        ["program", "ranks", "size", "rate", "message_bytes", "off_s", "on_s", "speedup"])),
    picture("early"; "Speedup by program")),
(select(.hiding) | "## Latency hiding (figures 21 to 23)

The heat equation by rows of both ranks, on a link of the rate. A message is one row. The
granularity gamma is the calculation's time in form A.1 divided by the rest of that form's time; the
overhead Omega is how much longer form A.3 calculates and starts transfers than A.1 calculates,
divided by A.1's calculation. `prp model gain` predicts the gain from both.
",
    (.hiding | rows(["rows", "bytes of a row", "rate", "gamma", "Omega", "gain of A.2",
            "gain of A.3", "predicted", "error, %"];
        ["rows", "message_bytes", "rate", "gamma", "overhead", "gain_a2", "gain_a3", "predicted_a3",
         "error_percent"])),
    picture("hiding"; "Gain of A.3 over A.1, measured and predicted")),
(select(.models) | "## Predicted communication (hyperbolic model, figures 11 to 19)

Each process is on a node of its own, at an MTU of 576 and on one network of 100 Mbit/s for all.
`prp model fit --model blocks` fits workstation and network to pairs of processes; both predict the
figures below. All processes share two processors, which for small messages are the fitted network
(`Graph::least_fixed`). A process that gets several messages is woken once for all of them, which
pairs do not show: exchanges of small messages take less time than predicted.
",
    (.models.patterns | select(length > 0)
        | "Patterns (figures 11, 12 and 14), microseconds:
",
          rows(["pattern", "processes", "bytes", "measured", "predicted", "error, %"];
            ["pattern", "processes", "bytes", "measured_us", "predicted_us", "error_percent"])),
    picture("patterns"; "Patterns, measured and predicted"),
    (.models.domain_decomposition | select(length > 0)
        | "Domain decomposition on four ranks, microseconds an iteration: all messages of the " +
          "unchanged
program (figure 16), and the exchange of edges when all ranks begin it together (figure 17):
",
          rows(["side", "bytes of an edge", "all", "predicted", "error, %", "edges", "predicted",
              "error, %"];
            ["size", "bytes", "messages_us", "predicted_messages_us", "messages_error_percent",
             "edges_us", "predicted_edges_us", "edges_error_percent"])),
    picture("decomposition"; "Domain decomposition, measured and predicted"),
    (.models.multigrid | select(length > 0)
        | "Time-parallel multigrid, four planes of one rank (figure 19): microseconds of a " +
          "plane's message
that the next rank waits for. The first prediction is for one message at a time, the second for all
three at once. The program was measured as it is, and with all ranks meeting before they send,
until the last of the three messages has arrived:
",
          rows(["side", "bytes of a plane", "predicted, one", "measured", "measured, at once",
                "predicted, all at once", "error, %"];
            ["size", "bytes", "predicted_alone_us", "plane_us", "plane_together_us",
             "predicted_together_us", "together_error_percent"])),
    picture("multigrid"; "Multigrid, measured and predicted"))
