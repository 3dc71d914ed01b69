"""A member of a group: kafka-python. See ../README.md."""

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from member import HEARTBEAT_MS, MOST_AT_ONCE, Progress, membership, until_input_ends

ASSIGNORS = {
    assignor.name: assignor
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, CooperativeStickyAssignor)
}


class Listener(ConsumerRebalanceListener):
    def __init__(self, progress):
        self.progress = progress

    def on_partitions_assigned(self, assigned):
        self.progress.assigned([partition.partition for partition in assigned])

    def on_partitions_revoked(self, revoked):
        self.progress.revoked([partition.partition for partition in revoked])

    def on_partitions_lost(self, lost):
        self.progress.lost([partition.partition for partition in lost])


def main():
    own = membership()
    ended = until_input_ends()
    consumer = KafkaConsumer(
        bootstrap_servers=own.bootstrap,
        group_id=own.group,
        client_id=own.name,
        partition_assignment_strategy=[ASSIGNORS[own.assignor]],
        session_timeout_ms=own.session_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=MOST_AT_ONCE,
    )

    def send(offsets):
        consumer.commit({
            TopicPartition(own.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        })

    progress = Progress(send, KafkaError)
    consumer.subscribe([own.topic], listener=Listener(progress))
    while not ended.is_set() or progress.uncommitted:
        for messages in consumer.poll(timeout_ms=100).values():
            for message in messages:
                progress.processed(message.partition, message.offset, message.value)
        if own.commits == "often" or ended.is_set():
            progress.commit()
    consumer.close()


main()
