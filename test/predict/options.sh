#!/bin/bash
# The options of predictions: tables, errors, what is left behind.
#   options.sh BIN FOLDER-OF-PROGRAMS PROGRAM MACHINE
. "$(dirname "$0")/../explore/common.sh"
program=$programs machine=$4
sources=$(dirname "$machine")
# says TEXT: the output has it.
says() { grep -qF -- "$1" out || fail "no '$1'"; }

run 0 -predict one-node -ranks 4,8 "$program"
says "efficiency"
[ "$(grep -cE '^ +[48] +1 ' out)" = 2 ] || fail "no line for each number of ranks"
run 0 -predict=infiniband-hdr -predict-compute=0.5 -n 4 "$program"
says "on infiniband-hdr, 4 ranks on 1 node"
run 1 -predict nothing -n 4 "$program"
says "-predict nothing: cannot be read; allowed is a file that describes a machine, or one of ethernet-25g"
run 1 -ranks 4,8 "$program"
says "allowed with -predict"
run 1 -predict one-node -check -n 4 "$program"
says "options that begin with -predict-"
run 1 -predict one-node -predict-compute=fast -n 4 "$program"
says "allowed are measured, typical, none, a factor above 0"
run 1 -predict one-node -ranks 4,x "$program"
says "allowed is a number from 1"
sed 's/"gap_ns": 10,/"gap": 10,/' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 7: gap in inside: allowed are eager, pieces, latency_ns"
sed 's/"latency_ns": 100,/"latency_ns": -1,/' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 7: latency_ns: allowed is a number from 0"
sed 's/"gap_ns": 10,/"gap_ns": 10, "gap_ns": 20,/' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 7: gap_ns: allowed is one of them in an object"
sed 's/"nodes": {/"nodes": {"count": 2.5, /' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 3: count: allowed is a whole number"
sed 's/"from": 100000/"from": 0/' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "line 11: from: allowed is 0 in the first piece, then ascending"
sed 's/"nodes": {/"nodes": {"count": 2, /' "$machine" > small.json
run 1 -predict small.json -n 5 "$program"
says "-predict small.json, line 3: count: 2 nodes of 2 ranks hold 4 ranks; 5 are to run"
run 1 -predict small.json -ranks 2,6,4 "$program"
says "hold 4 ranks; 6 are to run"
run 0 -predict small.json -n 4 "$program"
sed 's/"all_gb_s": 2/"all_gb_s": 0/' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "line 4: all_gb_s: allowed is a number from 1e-06"
# network KEYS: the machine with a network.
network() { sed "3i\\  \"network\": {$1}," "$machine" > network.json; }
network '"topology": "torus", "dimensions": [2, 2]'
run 1 -predict network.json -n 9 "$program"
says "network.json, line 3: count: 4 nodes of 2 ranks hold 8 ranks; 9 are to run"
run 0 -predict network.json -predict-contention=links -n 4 "$program"
network '"topology": "ring"'
run 1 -predict network.json -n 4 "$program"
says "line 3: topology: ring: allowed are switch, fat tree, torus, dragonfly, graph"
network '"topology": "graph", "nodes": 2, "links": [{"ends": [0, "a"]}, {"ends": [1, "b"]}]'
run 1 -predict network.json -n 4 "$program"
says "line 3: links: no way leads from node 1 to node 0"
network '"topology": "dragonfly", "groups": 4, "routers": 1, "nodes": 1, "global": 2'
run 1 -predict network.json -n 4 "$program"
says "1 routers with 2 links to other groups do not reach 3 groups"
network '"topology": "torus", "dimensions": [2]'
sed -i 's/"nodes": {/"nodes": {"count": 3, /' network.json
run 1 -predict network.json -n 4 "$program"
says "line 4: count: 3; the torus of line 3 has 2 nodes"
sed '3i\  "collectives": {"allreduce": [{"algorithm": "recursive doubling"}, {"from": 100000, "algorithm": "halving + doubling"}]},' "$machine" > rules.json
run 0 -predict rules.json -n 4 "$program"
says "allreduce by recursive doubling"
sed '3i\  "collectives": {"communicator": "linear"},' "$machine" > rules.json
run 0 -predict rules.json -n 4 "$program"
says "communicator by linear"
sed '3i\  "collectives": {"allreduce": "ring"},' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 3: allreduce: ring: allowed are recursive doubling, halving + doubling"
sed '3i\  "collectives": {"barrier": "ring"},' "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "line 3: barrier in collectives: allowed are bcast, allgather"
run 1 -predict one-node -predict-contention=both -n 4 "$program"
says "-predict-contention=both: allowed are ends and links"
run 1 -predict-contention=links -n 4 "$program"
says "allowed with -predict"
head -n 6 "$machine" > bad.json
run 1 -predict bad.json -n 4 "$program"
says "bad.json, line 7:"
run 1 -predict one-node -n 2 false
says "not all ranks have ended in MPI_Finalize"

# The critical path of a chain of messages has the lines of its calls; keeping it does not change the time.
chain=$2/chain
run 0 -predict "$machine" -predict-compute=none -n 4 "$chain"
grep predicted: out > without
run 0 -predict "$machine" -predict-compute=none -predict-explain -n 4 "$chain"
grep -qxF "$(cat without)" out || fail "the time with the critical path is not that without: $(cat without)"
says "critical path: computing 0.0 %, in calls 8.1 %, latency 17.6 %, bytes 73.9 %, contention 0.4 %; 401 messages"
says "300 messages from chain.c:$(grep -n 'line sent' "$sources/chain.c" | cut -d: -f1) to chain.c:$(grep -n 'line received' "$sources/chain.c" | cut -d: -f1)"
run 0 -predict "$machine" -predict-compute=none -predict-plot plot.svg -ranks 2,4,8 "$chain"
[ "$(grep -c '<circle' plot.svg)" = 3 ] || fail "not three points"
if command -v xmllint >/dev/null; then xmllint --noout plot.svg || fail "plot.svg is no XML"; fi
run 1 -predict-explain -n 4 "$chain"
says "allowed with -predict"
# Ranks that a file places, and memory that they share.
sed 's/"ranks": 2}/"ranks": 2, "placement": {"file": "placed"}}/' "$machine" > placed.json
printf '3 # the first\n0\n0\n' > placed
run 0 -predict placed.json -predict-compute=none -n 3 "$2/ping_pong"
says "3 ranks on 4 nodes"
run 1 -predict placed.json -n 4 "$2/ping_pong"
says "-predict placed.json: its placement has 3 ranks; 4 are to run"
printf '0\n0 0\n' > placed
run 1 -predict placed.json -n 3 "$2/ping_pong"
says "placed, line 2: node 0: it has more than 2 ranks"
printf 'h1\n' > placed
run 1 -predict placed.json -n 1 "$2/ping_pong"
says "placed, line 1: h1: allowed is the number of a node from 0 to 999999"
rm placed
run 1 -predict placed.json -n 1 "$2/ping_pong"
says "placed.json, line 3: file: placed cannot be read"
sed 's/"reduction_gb_s": 10/"memory": {"node_gb_s": 10, "core_gb_s": 10}/' "$machine" > bad.json
run 1 -predict bad.json -n 2 "$2/ping_pong"
says "bad.json, line 5: part is missing"
sed 's/"reduction_gb_s": 10/"memory": {"node_gb_s": 10, "core_gb_s": 10, "part": 1}/' "$machine" > memory.json
run 0 -predict memory.json -n 2 "$2/ping_pong"
"$bin/fgmpi-info" -predict > out || fail "fgmpi-info -predict"
says "memory: {node_gb_s, core_gb_s, part"
# Programs that decide by the clock.
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/deadline" poll
if grep -q warning out; then fail "a warning where nobody decides by the clock"; fi
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/deadline" timeout
says "warning: 1 rank looks at the clock until a time has come"
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/deadline" clock
says "warning: 1 rank looks at the clock"
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/deadline" long
grep -qE " looks, 10[0-3] s" out || fail "$(cat out)"
[ "$(sed -n 's/ looks,.*//p' out)" -lt 3000 ] || fail "$(cat out)"
# Files, of which none of the times is computing.
sed 's/"client_gb_s": 1/"client_gb_s": 0.001/' "$machine" > slow-files.json
run 0 -predict slow-files.json -predict-compute=none -n 2 "$2/deadline" file
says "limited by: files, windows and other calls"
# What ranks wait for outside of MPI takes no time there.
run 0 -predict "$machine" -n 2 "$2/deadline" child
says "outside of MPI (for a child"
if grep -q "predicted: [0-9.]* s" out; then fail "a child's time counts: $(cat out)"; fi
run 0 -predict "$machine" -n 2 "$2/deadline" poll
if grep -q "outside of MPI" out; then fail "a warning where no rank waits outside of MPI"; fi
# A loop that sleeps between its polls goes on in larger steps, and finds the message when it has come.
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/deadline" sleep
if grep -q warning out; then fail "a warning where a rank sleeps between polls"; fi
says "polls, 100.000"
[ "$(sed -n 's/ polls.*//p' out)" -lt 2000 ] || fail "$(cat out)"
# A tool in the program stands in front of MPI: what it calls is predicted.
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/ping_pong" 0 5000 50000
grep -v limited out > without
run 0 -predict "$machine" -predict-compute=none -n 2 "$2/ping_pong_tool" 0 5000 50000
grep -v limited out | cmp - without || fail "a tool changes the times: $(cat without)"
no_folder_left
