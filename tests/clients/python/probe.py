"""What the two Python programs share: the records, and the report. See ../README.md."""

import sys
import time

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PER_CODEC = 4
COUNT = PER_CODEC * len(CODECS)
DELETE_BEFORE = 4
GROUP_PARTITIONS = 4
GROUP_RECORDS = 40
GROUP_MORE = 8
BASE_MS = int(time.time()) * 1000 - 60_000
HEADERS = [("one", b"1"), ("empty", b""), ("null", None)]


def records(codec):
    """(key, value, headers, timestamp in ms) of the codec's four records."""
    first = BASE_MS + 1000 * CODECS.index(codec)
    name = codec.encode()
    return [
        (name + b"-key", (name + b"-value ") * 50, HEADERS, first),
        (None, name + b"-no-key", [], first + 1),
        (name + b"-tombstone", None, [], first + 2),
        (b"", b"", [], first + 3),
    ]


def all_records():
    return [record for codec in CODECS for record in records(codec)]


def expect(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, not {wanted!r}")


def report(feature, check, *arguments):
    """Runs the check and prints the feature's line; answers whether it held."""
    try:
        check(*arguments)
    except Exception as error:  # whatever the client raises is the finding
        detail = f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " ")
        print(feature, "fail", detail, sep="\t", flush=True)
        return False
    print(feature, "ok", "", sep="\t", flush=True)
    return True


def not_offered(feature, why):
    print(feature, "none", why, sep="\t", flush=True)


def arguments():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} HOST:PORT TOPIC")
    return sys.argv[1], sys.argv[2]


def until(condition, what, seconds=20):
    """Waits for what the cluster does in its own time, as deleting a topic is."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)
