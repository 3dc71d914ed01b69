#!/usr/bin/env bash
# kcat (librdkafka). See ../README.md. kcat has no admin requests, so the topic is made by asking for
# it (auto.create.topics.enable); it sends no time of its own choosing, and no record with an empty
# key and an empty value beside one with nulls (-Z makes both null).
set -uo pipefail
[ $# = 2 ] || { echo "usage: $0 HOST:PORT TOPIC" >&2; exit 2; }
bootstrap=$1 topic=$2
codecs=(none gzip snappy lz4 zstd)
before_ms=$(($(date +%s) * 1000 - 1000))

kcat() { timeout 30 env kcat -q -b "$bootstrap" "$@"; }

# feature NAME COMMAND...: the command's last line of output is the detail of a failure
feature() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    printf '%s\tok\t\n' "$name"
  else
    printf '%s\tfail\t%s\n' "$name" "$(tail -n 1 <<<"$output" | tr '\t' ' ')"
  fi
}

none() { printf '%s\tnone\tkcat has no such request\n' "$1"; }

expect() { # GOT WANTED WHAT
  [ "$1" = "$2" ] || { echo "$3: $1, not $2"; return 1; }
}

produce() {
  local codec=$1 value
  value=$(printf "$codec-value %.0s" {1..50})
  local send=(-P -t "$topic" -p 0 -z "$codec" -X acks=all -X enable.idempotence=true -K '|')
  kcat "${send[@]}" -H one=1 -H empty= -H none <<<"$codec-key|$value" &&
    kcat "${send[@]}" -Z <<<"|$codec-no-key" &&
    kcat "${send[@]}" -Z <<<"$codec-tombstone|" &&
    kcat "${send[@]}" <<<"|"
}

wanted() {
  local codec value offset=0
  for codec in "${codecs[@]}"; do
    value=$(printf "$codec-value %.0s" {1..50})
    printf '%d %d<%s> %d<%s> %s\n' $((offset++)) $((${#codec} + 4)) "$codec-key" ${#value} "$value" one=1,empty=,none=NULL
    printf '%d %d<%s> %d<%s> %s\n' $((offset++)) -1 '' $((${#codec} + 7)) "$codec-no-key" ''
    printf '%d %d<%s> %d<%s> %s\n' $((offset++)) $((${#codec} + 10)) "$codec-tombstone" -1 '' ''
    printf '%d %d<%s> %d<%s> %s\n' $((offset++)) 0 '' 0 '' ''
  done
}

consume() {
  local got
  got=$(kcat -C -t "$topic" -p 0 -o beginning -c 20 -X check.crcs=true -f '%o %K<%k> %S<%s> %h\n') || return 1
  diff <(echo "$got") <(wanted) || { echo "records differ: $(diff <(echo "$got") <(wanted) | sed -n 2p)"; return 1; }
}

# offset_at TIME: -2 is the beginning, -1 the end
offset_at() { kcat -Q -t "$topic:0:$1" | sed -n 's/.*offset //p'; }

list_offsets() {
  expect "$(offset_at -2)" 0 earliest && expect "$(offset_at -1)" 20 latest
}

offsets_by_time() {
  expect "$(offset_at "$before_ms")" 0 "before the first" && expect "$(offset_at $((before_ms + 3600000)))" -1 "after the last"
}

# kcat makes its topics by asking for them, so this one has one partition and one of two members none.
group=$topic-group

group() {
  local got
  kcat -L -t "$group" >/dev/null
  seq 0 39 | kcat -P -t "$group" &&
    got=$(kcat -G "$group" -X auto.offset.reset=earliest -c 40 "$group" 2>/dev/null) &&
    expect "$got" "$(seq 0 39)" "records of the group"
}

group_resume() {
  local got
  seq 40 47 | kcat -P -t "$group" &&
    got=$(kcat -G "$group" -X auto.offset.reset=earliest -c 8 "$group" 2>/dev/null) &&
    expect "$got" "$(seq 40 47)" "records after a restart"
}

# said FILE TEXT: waits until the member has said so
said() {
  for _ in {1..200}; do
    grep -q -- "$2" "$1" && return 0
    sleep 0.1
  done
  echo "not within 20 s: $2"
  return 1
}

group_leave() {
  local directory one two outcome
  directory=$(mktemp -d)
  timeout 60 env kcat -b "$bootstrap" -G "$group" "$group" 2>"$directory/one" >/dev/null & one=$!
  said "$directory/one" "assigned: $group \\[0\\]"
  outcome=$?
  timeout 60 env kcat -b "$bootstrap" -G "$group" "$group" 2>"$directory/two" >/dev/null & two=$!
  said "$directory/two" "assigned" && kill "$one" && said "$directory/two" "assigned: $group \\[0\\]"
  outcome=$((outcome + $?))
  kill "$one" "$two" 2>/dev/null
  wait "$one" "$two" 2>/dev/null
  rm -r "$directory"
  return "$outcome"
}

none create-topic
kcat -L -t "$topic" >/dev/null 2>&1
for codec in "${codecs[@]}"; do feature "produce-$codec" produce "$codec"; done
feature consume consume
feature list-offsets list_offsets
feature offsets-by-time offsets_by_time
feature group group
feature group-resume group_resume
feature group-leave group_leave
none consumer-protocol
none delete-records
none delete-topic
