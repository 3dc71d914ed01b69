import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of a group. See ../../../../README.md. */
public final class Member implements ConsumerRebalanceListener {
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", "org.apache.kafka.clients.consumer.RangeAssignor",
            "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
    private static final int HEARTBEAT_MS = 300;
    private static final int MOST_AT_ONCE = 100;

    private final KafkaConsumer<String, String> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new TreeMap<>(
            (one, other) -> Integer.compare(one.partition(), other.partition()));
    private final boolean commitsOften;
    private volatile boolean ended;

    private Member(String[] arguments) {
        Map<String, Object> properties = Map.of(
                "bootstrap.servers", arguments[0],
                "group.id", arguments[2],
                "partition.assignment.strategy", ASSIGNORS.get(arguments[3]),
                "client.id", arguments[4],
                "session.timeout.ms", Integer.parseInt(arguments[5]),
                "heartbeat.interval.ms", HEARTBEAT_MS,
                "max.poll.records", MOST_AT_ONCE,
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest");
        commitsOften = arguments[6].equals("often");
        consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(arguments[1]), this);
    }

    public static void main(String[] arguments) {
        if (arguments.length != 7) {
            System.err.println("usage: Member HOST:PORT TOPIC GROUP ASSIGNOR NAME SESSION_MS often|late");
            System.exit(2);
        }
        new Member(arguments).run();
    }

    private void run() {
        var reader = new Thread(this::awaitEndOfInput);
        reader.setDaemon(true);
        reader.start();
        while (!ended || !uncommitted.isEmpty()) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                say(record.partition() + " " + record.offset() + " " + record.value());
                var partition = new TopicPartition(record.topic(), record.partition());
                uncommitted.put(partition, new OffsetAndMetadata(record.offset() + 1));
            }
            if (commitsOften || ended) {
                commit();
            }
        }
        consumer.close();
    }

    private void awaitEndOfInput() {
        try {
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (IOException e) {
            System.err.println(e);
        }
        ended = true;
    }

    private static void say(String line) {
        System.out.write((line + "\n").getBytes(StandardCharsets.UTF_8), 0, line.length() + 1);
        System.out.flush();
    }

    /** What is refused now goes with the next commit, unless the partition goes before. */
    private void commit() {
        if (uncommitted.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(Map.copyOf(uncommitted));
        } catch (RebalanceInProgressException | CommitFailedException error) {
            System.err.println("commit refused: " + error);
            return;
        }
        say(uncommitted.entrySet().stream()
                .map(entry -> " " + entry.getKey().partition() + ":" + entry.getValue().offset())
                .collect(Collectors.joining("", "committed", "")));
        uncommitted.clear();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
        tell("assigned", assigned);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        commit();
        uncommitted.keySet().removeAll(revoked);
        tell("revoked", revoked);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
        uncommitted.keySet().removeAll(lost);
        tell("lost", lost);
    }

    private static void tell(String word, Collection<TopicPartition> partitions) {
        say(partitions.stream()
                .map(TopicPartition::partition)
                .sorted()
                .map(partition -> " " + partition)
                .collect(Collectors.joining("", word, "")));
    }
}
