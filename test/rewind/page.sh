# mpiexec -rewind FILE -report PAGE: the page has the events, and names the commands that go there.
. "$(dirname "$0")/common.sh"
recorded 0 -ranks 6 "$programs/messages"
"$bin/mpiexec" -rewind run.rec -report page.html >out 2>&1 || fail "-report: status: $(cat out)"
"$bin/mpiexec" -rewind run.rec -events >all
grep -q "6 ranks, $(wc -l <all) MPI calls; it ended with status 0" page.html || fail "the first lines of the page"
grep -q "<td>MPI_Sendrecv</td><td class=n>24</td>" page.html || fail "the table of calls"
grep -q "<td>reversed</td>" page.html || fail "the table of communicators"
# The data of the timeline is that of -events.
python3 - page.html all <<'END' || fail "the timeline"
import json
import re
import sys

page, listed = open(sys.argv[1]).read(), open(sys.argv[2]).read().splitlines()
data = {name: json.loads(text) for name, text in re.findall(r"(calls|places|rank|call|place) = (\[.*?\])[,;]", page)}
first = int(re.search(r"const first = (\d+)", page).group(1))
lines = ["%d rank %d %s at %s" % (first + i, rank, data["calls"][call], data["places"][place])
         for i, (rank, call, place) in enumerate(zip(data["rank"], data["call"], data["place"]))]
# Communicators have their names from the beginning here, in the list from when the program gives them.
listed = [re.sub(r" in communicator 2 at", " in reversed at", line) for line in listed]
wrong = [(a, b) for a, b in zip(lines, listed) if a != b]
sys.exit("%d and %d events, %s" % (len(lines), len(listed), wrong[:3]) if wrong or len(lines) != len(listed) else 0)
END
if command -v node >/dev/null; then
  sed -n '/<script>/,/<\/script>/p' page.html | sed '1d;$d' >page.js
  cat - page.js >run.js <<'END'
const element = () => ({ children: [], clientWidth: 800, clientHeight: 400, getContext: () => ({ fillRect() {} }),
  getBoundingClientRect: () => ({ left: 0, top: 0, width: 800, height: 400 }),
  appendChild(child) { this.children.push(child); return child; } });
const elements = { time: element(), shown: element(), chosen: element() };
const document = { getElementById: name => elements[name], createElement: element };
const window = {};
END
  cat >>run.js <<'END'
elements.time.onclick({ clientX: 400, clientY: 200 });
elements.time.onwheel({ preventDefault() {}, offsetX: 100, deltaY: -1 });
console.log(elements.chosen.children.map(line => line.children[0].textContent).join('\n'));
END
  node run.js >clicked || fail "the script: $(cat clicked)"
  grep -qE '^[0-9]+: rank [0-9]+ MPI_' clicked || fail "a click: $(cat clicked)"
  grep -qE '^mpiexec -rewind .*/run.rec gdb -ex "fgmpi goto [0-9]+"$' clicked || fail "the command: $(cat clicked)"
fi
"$bin/mpiexec" -rewind run.rec -report missing/page.html 2>err.repeated && fail "a page that cannot be written"
grep -q "missing/page.html" err.repeated || fail "a page that cannot be written: not said"
