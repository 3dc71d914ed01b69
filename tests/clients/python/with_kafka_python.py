"""kafka-python. See ../README.md."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from probe import (BASE_MS, CODECS, COUNT, DELETE_BEFORE, GROUP_MORE, GROUP_PARTITIONS, GROUP_RECORDS,
                   all_records, arguments, expect, not_offered, records, report, until)

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

    def make(self, topic, partitions=1):
        self.admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
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


    def group(self):
        self.grouped = self.topic + "-group"
        self.make(self.grouped, GROUP_PARTITIONS)
        members = [self.member(), self.member()]
        self.assigned(members, GROUP_PARTITIONS // len(members))
        self.send_numbers(range(GROUP_RECORDS))
        got = self.receive(members, GROUP_RECORDS)
        expect(sorted(got), list(range(GROUP_RECORDS)), "records of the group")
        for member in members:
            member.commit()
            member.close()

    def group_resume(self):
        more = range(GROUP_RECORDS, GROUP_RECORDS + GROUP_MORE)
        self.send_numbers(more)
        member = self.member()
        got = self.receive([member], GROUP_MORE)
        expect(sorted(got), list(more), "records after a restart")
        member.commit()
        member.close()

    def group_leave(self):
        stays, leaves = self.member(), self.member()
        self.assigned([stays, leaves], GROUP_PARTITIONS // 2)
        leaves.close()
        self.assigned([stays], GROUP_PARTITIONS)
        stays.close()

    def member(self):
        member = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.grouped,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=500,
        )
        member.subscribe([self.grouped])
        return member

    def assigned(self, members, partitions):
        def all_have():
            for member in members:
                expect(member.poll(timeout_ms=100), {}, "records before any was sent")
            return all(len(member.assignment()) == partitions for member in members)

        until(all_have, f"each member has {partitions} partitions", 2 * SECONDS)

    def send_numbers(self, numbers):
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        for number in numbers:
            producer.send(self.grouped, value=str(number).encode(), partition=number % GROUP_PARTITIONS).get(SECONDS)
        producer.close()

    def receive(self, members, count):
        got = []

        def all_came():
            for member in members:
                for messages in member.poll(timeout_ms=100).values():
                    got.extend(int(message.value) for message in messages)
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
    not_offered("consumer-protocol", "kafka-python knows the classic protocol alone")
    report("delete-records", client.delete_records)
    report("delete-topic", client.delete_topic)
    client.consumer.close()
    client.admin.close()


main()
