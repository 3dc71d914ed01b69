"""A member of a group: confluent-kafka (librdkafka). See ../README.md."""

from confluent_kafka import Consumer, KafkaException, TopicPartition

from member import HEARTBEAT_MS, MOST_AT_ONCE, Progress, membership, until_input_ends


def main():
    own = membership()
    ended = until_input_ends()
    consumer = Consumer({
        "bootstrap.servers": own.bootstrap,
        "group.id": own.group,
        "client.id": own.name,
        "partition.assignment.strategy": own.assignor,
        "session.timeout.ms": own.session_ms,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    })

    def send(offsets):
        wanted = [TopicPartition(own.topic, partition, offset) for partition, offset in offsets.items()]
        for done in consumer.commit(offsets=wanted, asynchronous=False):
            if done.error:
                raise KafkaException(done.error)

    progress = Progress(send, KafkaException)

    def told(tell):
        return lambda _, partitions: tell([partition.partition for partition in partitions])

    consumer.subscribe([own.topic], on_assign=told(progress.assigned), on_revoke=told(progress.revoked),
                       on_lost=told(progress.lost))
    while not ended.is_set() or progress.uncommitted:
        message = consumer.poll(0.1)
        taken = 0
        while message is not None:
            if message.error():
                raise KafkaException(message.error())
            progress.processed(message.partition(), message.offset(), message.value())
            taken += 1
            message = consumer.poll(0) if taken < MOST_AT_ONCE else None
        if own.commits == "often" or ended.is_set():
            progress.commit()
    consumer.close()


main()
