"""confluent-kafka (librdkafka). See ../README.md."""

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from probe import (BASE_MS, CODECS, COUNT, DELETE_BEFORE, GROUP_MORE, GROUP_PARTITIONS, GROUP_RECORDS,
                   all_records, arguments, expect, records, report, until)

SECONDS = 20
PROTOCOL_IS_OFF = ("Fatal error: Broker: API version not supported: "
                   "ConsumerGroupHeartbeat fatal error: Broker: API version not supported")


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

    def make(self, topic, partitions=1):
        made = self.admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
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


    def group(self):
        self.grouped = self.topic + "-group"
        self.make(self.grouped, GROUP_PARTITIONS)
        members = [self.member(), self.member()]
        self.share(members)
        self.send_numbers(range(GROUP_RECORDS))
        got = self.receive(members, GROUP_RECORDS)
        expect(sorted(got), list(range(GROUP_RECORDS)), "records of the group")
        for member in members:
            member.commit(asynchronous=False)
            member.close()

    def group_resume(self):
        more = range(GROUP_RECORDS, GROUP_RECORDS + GROUP_MORE)
        self.send_numbers(more)
        member = self.member()
        got = self.receive([member], GROUP_MORE)
        expect(sorted(got), list(more), "records after a restart")
        member.commit(asynchronous=False)
        member.close()

    def group_leave(self):
        stays, leaves = self.member(), self.member()
        self.share([stays, leaves])
        leaves.close()
        self.assigned([stays], GROUP_PARTITIONS)
        stays.close()

    def consumer_protocol(self):
        """It is off, and librdkafka says so: an error that it does not live through."""
        member = Consumer({
            "bootstrap.servers": self.bootstrap,
            "group.id": self.topic + "-consumer-protocol",
            "group.protocol": "consumer",
        })
        member.subscribe([self.topic])
        message = member.poll(SECONDS)
        if message is None:
            raise AssertionError(f"not a word within {SECONDS} s")
        error = message.error()
        expect((error.name(), error.str()), ("_FATAL", PROTOCOL_IS_OFF), "what a poll returns")
        expect(member.assignment(), [], "partitions")
        member.close()

    def member(self):
        member = Consumer({
            "bootstrap.servers": self.bootstrap,
            "group.id": self.grouped,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        })
        member.subscribe([self.grouped])
        return member

    def share(self, members):
        self.assigned(members, GROUP_PARTITIONS // len(members))

    def assigned(self, members, partitions):
        def all_have():
            for member in members:
                expect(member.poll(0.05), None, "a record before any was sent")
            return all(len(member.assignment()) == partitions for member in members)

        until(all_have, f"each member has {partitions} partitions", 2 * SECONDS)

    def send_numbers(self, numbers):
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number in numbers:
            producer.produce(self.grouped, value=str(number), partition=number % GROUP_PARTITIONS)
        expect(producer.flush(SECONDS), 0, "records not acknowledged")

    def receive(self, members, count):
        got = []

        def all_came():
            for member in members:
                message = member.poll(0.05)
                if message is not None:
                    expect(message.error(), None, "an error")
                    got.append(int(message.value()))
            return len(got) >= count

        until(all_came, f"{count} records come", 2 * SECONDS)
        return got


def main():
    client = Client(*arguments())
    report("create-topic", client.make, client.topic)
    for codec in CODECS:
        report(f"produce-{codec}", client.produce, codec)
    report("consume", client.consume)
    report("list-offsets", client.list_offsets)
    report("offsets-by-time", client.offsets_by_time)
    report("group", client.group)
    report("group-resume", client.group_resume)
    report("group-leave", client.group_leave)
    report("consumer-protocol", client.consumer_protocol)
    report("delete-records", client.delete_records)
    report("delete-topic", client.delete_topic)
    client.consumer.close()


main()
