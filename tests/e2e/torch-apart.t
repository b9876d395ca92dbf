#!/bin/bash
# Two recordings at once that have nothing to do with each other: neither holds anything of the other's job.

. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/torchjob.sh"

job=("${data_options[@]}" --hidden 8 --workers 1 --checkpoint-every 10 --steps 30)

both() {
    local a b
    record "$scratch/files" --no-report -- "${train[@]}" "${job[@]}" --out "$scratch/out-files" --truth "$scratch/files.truth" &
    a=$!
    record "$scratch/packed" --no-report -- "${train[@]}" "${job[@]}" --data packed --out "$scratch/out-packed" \
        --truth "$scratch/packed.truth" &
    b=$!
    wait $a && wait $b
}

# How often a trace names something.
names() { "$TR" events "$scratch/$1" | grep -c " name .*$2"; }

need_recorder
ok "data set" make_data
ok "two jobs are recorded at once" both
for name in files packed; do
    ok "$name: a report" report "$scratch/$name"
    ok "$name: its own steps and no others" judge --check steps "$scratch/$name.json" "$scratch/$name.truth"
done
ok "files: names its pictures" [ "$(names files "$DATA/pictures")" -gt 0 ]
ok "packed: names its shards" [ "$(names packed "$DATA/shards")" -gt 0 ]
is "files: nothing of the other's shards" "$(names files "$DATA/shards")" 0
is "files: nothing of the other's checkpoints" "$(names files "$scratch/out-packed")" 0
is "packed: nothing of the other's pictures" "$(names packed "$DATA/pictures")" 0
is "packed: nothing of the other's checkpoints" "$(names packed "$scratch/out-files")" 0
done_testing
