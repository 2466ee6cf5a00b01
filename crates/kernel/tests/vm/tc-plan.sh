# shellcheck shell=sh
# Commands of `laxity link plan` in the folder `plans`, each on an interface of its own with four queues: what
# tc says of the trees.
for file in plans/*.sh; do
    name=$(basename "$file" .sh)
    echo "== $name"
    ip link add "$name" numtxqueues 4 type dummy
    ip link set "$name" up
    sh -e "$file" 2>&1 || echo "refused"
    tc -s -d qdisc show dev "$name"
    tc -s -d class show dev "$name"
    tc filter show dev "$name" parent 1:
done
