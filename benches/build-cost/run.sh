#!/usr/bin/env bash
# What an annotated function adds to the build: three crates that differ only in the attribute on their 200 functions
# (none, ours, the leading peer's with the same coalescing), built in turn. Prints the medians and the ratio of what the
# two attributes add. The goal is at most a third of the peer's.
#
# With `own` each function returns a type of its own, as those of a program do; with `same` all return the same.
#
#   benches/build-cost/run.sh [functions] [rounds] [same|own] [profiles]
set -euo pipefail
functions=${1:-200} rounds=${2:-5} types=${3:-same} profiles=${4:-dev release}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/build-cost
export CARGO_TARGET_DIR=$work/target
# A build that finds nothing changed would tell nothing.
export CARGO_INCREMENTAL=0
mkdir -p "$work"

# crate NAME ATTRIBUTE DEPENDENCY
crate() {
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n[dependencies]\n%s\n' "$1" "$3
tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }" >"$work/$1/Cargo.toml"
    {
        echo "use std::pin::Pin;"
        for ((n = 0; n < functions; n++)); do
            case $types in
                own) answer="Answer$n" && echo "#[derive(Clone, Debug)] pub struct Answer$n(pub Vec<u64>);" ;;
                same) answer="Answer" ;;
                *) echo "the third argument is same or own, and not $types" >&2 && exit 2 ;;
            esac
            printf '%s\npub async fn f%d(id: u64, name: String) -> Result<%s, String> {\n' "$2" "$n" "$answer"
            printf '    tokio::task::yield_now().await;\n    if name.is_empty() { return Err(name); }\n    Ok(%s(vec![id + %d]))\n}\n' "$answer" "$n"
        done
        echo "#[derive(Clone, Debug)] pub struct Answer(pub Vec<u64>);"
        echo "type Call = Pin<Box<dyn Future<Output = String> + Send>>;"
        echo "#[tokio::main] async fn main() { let calls: Vec<Call> = vec!["
        for ((n = 0; n < functions; n++)); do echo "Box::pin(async { format!(\"{:?}\", f$n($n, String::new()).await) }),"; done
        echo "]; for call in calls { println!(\"{}\", call.await); } }"
    } >"$work/$1/src/main.rs"
}

crate none "" ""
crate ours "#[stampede_runtime::stampede_cached(ttl = 60)]" "stampede-runtime = { path = \"$root/stampede-runtime\" }"
crate peer "#[cached::macros::cached(ttl_secs = 60, sync_writes = \"by_key\")]" \
    'cached = { version = "4.1", features = ["async"] }'

# build NAME PROFILE: milliseconds of processor time, which others on the machine disturb least
build() {
    touch "$work/$1/src/main.rs"
    local TIMEFORMAT="%U %S"
    { time cargo build --quiet --manifest-path "$work/$1/Cargo.toml" --profile "$2" 1>&2 2>/dev/null; } 2>&1 |
        awk '{ printf "%d\n", ($1 + $2) * 1000 }'
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

for profile in $profiles; do
    declare -A times=([none]="" [ours]="" [peer]="")
    for name in none ours peer; do build "$name" "$profile" >/dev/null; done
    for ((round = 0; round < rounds; round++)); do
        for name in none ours peer; do times[$name]+=" $(build "$name" "$profile")"; done
    done
    none=$(median ${times[none]}) ours=$(median ${times[ours]}) peer=$(median ${times[peer]})
    printf '%-8s none %6d ms   ours %6d ms   peer %6d ms   added: ours %d ms, peer %d ms, ratio %s\n' "$profile" \
        "$none" "$ours" "$peer" $((ours - none)) $((peer - none)) \
        "$(awk "BEGIN { printf \"%.2f\", ($ours - $none) / ($peer - $none) }")"
done
