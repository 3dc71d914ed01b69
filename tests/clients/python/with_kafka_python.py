"""kafka-python. See ../README.md."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from probe import (BASE_MS, CODECS, COUNT, DELETE_BEFORE, all_records, arguments, expect, records,
                   report, until)

SECONDS = 20


def sendable(records):
    """The records without null headers, which kafka-python refuses to send."""
    return [
        (key, value, [header for header in headers if header[1] is not None], timestamp)
        for key, value, headers, timestamp in records
    ]


class Client:
    def __init__(self, bootstrap, topic):
        self.bootstrap, self.topic = bootstrap, topic
        self.partition = TopicPartition(topic, 0)
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self.consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            auto_offset_reset="none",
            enable_auto_commit=False,
            check_crcs=True,
            consumer_timeout_ms=SECONDS * 1000,
        )

    def make(self, topic):
        self.admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
        until(lambda: topic in self.admin.list_topics(), f"{topic} is listed")

    def produce(self, codec):
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            compression_type=None if codec == "none" else codec,
            acks="all",
            linger_ms=50,
        )
        futures = [
            producer.send(self.topic, key=key, value=value, headers=headers, partition=0, timestamp_ms=timestamp)
            for key, value, headers, timestamp in sendable(records(codec))
        ]
        for future in futures:
            future.get(SECONDS)
        producer.close()

    def consume(self):
        self.consumer.assign([self.partition])
        self.consumer.seek(self.partition, 0)
        got = []
        for message in self.consumer:
            expect(message.offset, len(got), "offset")
            got.append((message.key, message.value, list(message.headers), message.timestamp))
            if len(got) == COUNT:
                break
        expect(len(got), COUNT, "records that came")
        for offset, (was, wanted) in enumerate(zip(got, sendable(all_records()))):
            expect(was, wanted, f"record at offset {offset}")

    def list_offsets(self):
        expect(self.consumer.beginning_offsets([self.partition])[self.partition], 0, "earliest")
        expect(self.consumer.end_offsets([self.partition])[self.partition], COUNT, "latest")

    def at_time(self, timestamp):
        found = self.consumer.offsets_for_times({self.partition: timestamp})[self.partition]
        return found.offset if found else None

    def offsets_by_time(self):
        expect(self.at_time(BASE_MS + 1500), 8, "first at or after codec 2")
        expect(self.at_time(BASE_MS + 2001), 9, "a time that a record has")
        expect(self.at_time(BASE_MS + 3_600_000), None, "after the last")

    def delete_records(self):
        self.admin.delete_records({self.partition: DELETE_BEFORE})
        earliest = self.consumer.beginning_offsets([self.partition])[self.partition]
        expect(earliest, DELETE_BEFORE, "earliest")

    def delete_topic(self):
        gone = self.topic + "-gone"
        self.make(gone)
        self.admin.delete_topics([gone])
        until(lambda: gone not in self.admin.list_topics(), f"{gone} is gone")


def main():
    client = Client(*arguments())
    report("create-topic", client.make, client.topic)
    for codec in CODECS:
        report(f"produce-{codec}", client.produce, codec)
    report("consume", client.consume)
    report("list-offsets", client.list_offsets)
    report("offsets-by-time", client.offsets_by_time)
    report("delete-records", client.delete_records)
    report("delete-topic", client.delete_topic)
    client.consumer.close()
    client.admin.close()


main()
