"""confluent-kafka (librdkafka). See ../README.md."""

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from probe import (BASE_MS, CODECS, COUNT, DELETE_BEFORE, all_records, arguments, expect, records,
                   report, until)

SECONDS = 20


class Client:
    def __init__(self, bootstrap, topic):
        self.bootstrap, self.topic = bootstrap, topic
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.consumer = Consumer({
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            "auto.offset.reset": "error",
        })

    def make(self, topic):
        made = self.admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
        made[topic].result(SECONDS)
        until(lambda: topic in self.topics(), f"{topic} is listed")

    def topics(self):
        return self.admin.list_topics(timeout=SECONDS).topics

    def produce(self, codec):
        failures = []
        producer = Producer({
            "bootstrap.servers": self.bootstrap,
            "compression.type": codec,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 50,
        })
        for key, value, headers, timestamp in records(codec):
            producer.produce(self.topic, key=key, value=value, headers=headers or None, partition=0,
                             timestamp=timestamp, on_delivery=lambda error, _: error and failures.append(error))
        expect(producer.flush(SECONDS), 0, "records not acknowledged")
        expect(failures, [], "failed deliveries")

    def consume(self):
        self.consumer.assign([TopicPartition(self.topic, 0, 0)])
        got = []
        while len(got) < COUNT:
            message = self.consumer.poll(SECONDS)
            if message is None:
                raise AssertionError(f"only {len(got)} of {COUNT} records came")
            if message.error():
                raise AssertionError(str(message.error()))
            expect(message.offset(), len(got), "offset")
            got.append((message.key(), message.value(), message.headers() or [], message.timestamp()[1]))
        self.consumer.unassign()
        for offset, (was, wanted) in enumerate(zip(got, all_records())):
            expect(was, wanted, f"record at offset {offset}")

    def offset(self, spec):
        partition = TopicPartition(self.topic, 0)
        return self.admin.list_offsets({partition: spec})[partition].result(SECONDS).offset

    def list_offsets(self):
        expect(self.offset(OffsetSpec.earliest()), 0, "earliest")
        expect(self.offset(OffsetSpec.latest()), COUNT, "latest")

    def offsets_by_time(self):
        expect(self.offset(OffsetSpec.for_timestamp(BASE_MS + 1500)), 8, "first at or after codec 2")
        expect(self.offset(OffsetSpec.for_timestamp(BASE_MS + 2001)), 9, "a time that a record has")
        expect(self.offset(OffsetSpec.for_timestamp(BASE_MS + 3_600_000)), -1, "after the last")
        expect(self.offset(OffsetSpec.max_timestamp()), COUNT - 1, "of the greatest time")

    def delete_records(self):
        partition = TopicPartition(self.topic, 0, DELETE_BEFORE)
        deleted = self.admin.delete_records([partition])
        expect(deleted[partition].result(SECONDS).low_watermark, DELETE_BEFORE, "low watermark")
        expect(self.offset(OffsetSpec.earliest()), DELETE_BEFORE, "earliest")

    def delete_topic(self):
        gone = self.topic + "-gone"
        self.make(gone)
        self.admin.delete_topics([gone])[gone].result(SECONDS)
        until(lambda: gone not in self.topics(), f"{gone} is gone")


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


main()
