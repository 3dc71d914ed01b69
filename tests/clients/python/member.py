"""What the Python members of a group share. See ../README.md."""

import sys
import threading
from typing import NamedTuple

HEARTBEAT_MS = 300
MOST_AT_ONCE = 100


class Membership(NamedTuple):
    bootstrap: str
    topic: str
    group: str
    assignor: str
    name: str
    session_ms: int
    commits: str


def membership():
    if len(sys.argv) != 8:
        sys.exit(f"usage: {sys.argv[0]} HOST:PORT TOPIC GROUP ASSIGNOR NAME SESSION_MS often|late")
    return Membership(*sys.argv[1:6], int(sys.argv[6]), sys.argv[7])


def until_input_ends():
    """An event that is set when nobody holds our standard input any more."""
    ended = threading.Event()

    def wait():
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


class Progress:
    """Records that were processed; `send` commits next offsets by partition, or raises `refused`."""

    def __init__(self, send, refused):
        self.send, self.refused = send, refused
        self.uncommitted = {}

    def processed(self, partition, offset, value):
        print(partition, offset, value.decode(), flush=True)
        self.uncommitted[partition] = offset + 1

    def commit(self):
        """What is refused now goes with the next commit, unless the partition goes before."""
        if not self.uncommitted:
            return
        try:
            self.send(self.uncommitted)
        except self.refused as error:
            print(f"commit refused: {error}", file=sys.stderr, flush=True)
            return
        print("committed", *(f"{p}:{o}" for p, o in self.uncommitted.items()), flush=True)
        self.uncommitted = {}

    def assigned(self, partitions):
        print("assigned", *sorted(partitions), flush=True)

    def revoked(self, partitions):
        self.commit()
        self.forget("revoked", partitions)

    def lost(self, partitions):
        self.forget("lost", partitions)

    def forget(self, word, partitions):
        for partition in partitions:
            self.uncommitted.pop(partition, None)
        print(word, *sorted(partitions), flush=True)
