# shellcheck shell=sh
# Each line of the file `trees`: a name and commands of tc for an interface of that name with four queues. What tc
# says of it, and what `laxity check` reads from the kernel.
while IFS=';' read -r name commands; do
    echo "== $name"
    ip link add "$name" numtxqueues 4 type dummy
    ip link set "$name" up
    echo "$commands" | tr ';' '\n' | sed "s/DEV/dev $name/" | tc -batch - || echo "refused"
    echo "-- text"
    tc -s -d qdisc show dev "$name"
    tc -s -d class show dev "$name"
    tc -s filter show dev "$name" parent 1:
    echo "-- kernel"
    laxity check --tc "$name" --link-rate '100 Mbit/s' --json || echo "ended with $?"
    ip link del "$name"
done <trees
