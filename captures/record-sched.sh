#!/bin/sh
# Records what the scheduler does with a few threads made here, by perf and by the kernel's tracefs at
# the same time, into sched-perf.txt and sched-ftrace.txt. Needs root, perf, python3 and tracefs.
# All that is not part of the workload is renamed to `other/CPU`, one thread for each CPU that runs
# whenever none of the workload does, idle time included; threads are numbered from 101, time from 100 s.
set -eu
folder=${1:-$(dirname "$0")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/work.sh" <<'WORK'
#!/bin/sh
# Two that compute, one that computes 3 ms in every 20 ms, one that hands lines to another.
sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done' &
sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done' &
python3 -c '
import time
end = time.monotonic() + 1.2
next = time.monotonic()
while time.monotonic() < end:
    begin = time.thread_time()
    while time.thread_time() - begin < 0.003: pass
    next += 0.02
    time.sleep(max(0, next - time.monotonic()))
' &
(for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.05; done) | while read x; do :; done
wait
WORK
chmod +x "$work/work.sh"
cat > "$work/record.sh" <<'RECORD'
set -eu
work=$1
events="sched_switch sched_wakeup sched_wakeup_new sched_process_fork sched_process_exit"
mkdir "$work/tracing"
mount -t tracefs tracefs "$work/tracing"
instance="$work/tracing/instances/laxity-record"
mkdir "$instance"
echo mono > "$instance/trace_clock"
echo 4096 > "$instance/buffer_size_kb"
for e in $events; do echo 1 > "$instance/events/sched/$e/enable"; done
perf record -q -a -k mono $(for e in $events; do echo "-e sched:$e"; done) \
    -o "$work/perf.data" -- "$work/work.sh"
echo 0 > "$instance/tracing_on"
cp "$instance/trace" "$work/ftrace.txt"
rmdir "$instance"
umount "$work/tracing"
perf script -i "$work/perf.data" --ns > "$work/perf.txt"
RECORD
unshare -m sh "$work/record.sh" "$work"
cat > "$work/rename.py" <<'RENAME'
import re, sys
work, folder = sys.argv[1:]
PERF = re.compile(r'\s*(.*?)\s+(\d+) \[(\d+)\] ()(\d+)\.(\d+):\s+(\S+): (.*)$')
FTRACE = re.compile(r'\s*(.*)-(\d+)\s+\[(\d+)\] (\S+) (\d+)\.(\d+): (\S+): (.*)$')
FORK = re.compile(r'sched_process_fork: comm=(.*) pid=(\d+) child_comm=(.*) child_pid=(\d+)')
recorded = set()
for line in open(f'{work}/perf.txt'):
    fork = FORK.search(line)
    if fork and (fork[1] == 'work.sh' or fork[2] in recorded):
        recorded |= {fork[2], fork[4]}
number = {tid: str(101 + i) for i, tid in enumerate(sorted(recorded, key=int))}
def rename(lines, pattern, form, out):
    first, found = None, []
    for line in lines:
        match = pattern.match(line)
        if not match or not set(re.findall(r'pid=(\d+)', match[8])) & recorded:
            continue
        name, tid, cpu, flags, seconds, decimals, event, fields = match.groups()
        cpu = int(cpu)
        def known(name, tid):
            return (name, number[tid]) if tid in recorded else (f'other/{cpu}', str(cpu + 1))
        name, tid = known(name, tid)
        stranger = re.search(r'prev_pid=(\d+)', fields)
        def put(m):
            n, t = known(m[2], m[3])
            return f'{m[1]}comm={n} {m[1]}pid={t}'
        fields = re.sub(r'(prev_|next_|child_|)comm=(.*?) \1pid=(\d+)', put, fields)
        if stranger and stranger[1] not in recorded:
            fields = re.sub(r'prev_state=\S+', 'prev_state=R', fields)
        time = int(seconds) * 10**9 + int(decimals.ljust(9, '0'))
        first = time if first is None else first
        time += 100 * 10**9 - first
        found.append(form(name, tid, cpu, flags, f'{time // 10**9}.{time % 10**9:09}', event, fields))
    open(f'{folder}/{out}', 'w').write('\n'.join(found) + '\n')
rename(open(f'{work}/perf.txt'), PERF, lambda n, t, c, f, time, e, x:
       f'{n:>16} {t:>5} [{c:03}] {time:>13}: {e:>24}: {x}', 'sched-perf.txt')
rename(open(f'{work}/ftrace.txt'), FTRACE, lambda n, t, c, f, time, e, x:
       f'{n:>16}-{t:<7} [{c:03}] {f} {time[:-3]}: {e}: {x}', 'sched-ftrace.txt')
RENAME
python3 "$work/rename.py" "$work" "$folder"
wc -l "$folder/sched-perf.txt" "$folder/sched-ftrace.txt"
