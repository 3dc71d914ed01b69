import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka's Java clients, with their defaults: idempotent, acks=all. See ../../../../README.md. */
public final class Probe implements AutoCloseable {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final int PER_CODEC = 4;
    private static final int COUNT = PER_CODEC * CODECS.size();
    private static final long DELETE_BEFORE = 4;
    private static final long BASE_MS = System.currentTimeMillis() / 1000 * 1000 - 60_000;
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int GROUP_PARTITIONS = 4;
    private static final int GROUP_RECORDS = 40;
    private static final int GROUP_MORE = 8;
    private static final String PROTOCOL_IS_OFF =
            "The cluster does not support the new CONSUMER group protocol. Set group.protocol=classic on the consumer"
                    + " configs to revert to the CLASSIC protocol until the cluster is upgraded.";

    private interface Check {
        void run() throws Exception;
    }

    private final String bootstrap;
    private final String topic;
    private final TopicPartition partition;
    private final Admin admin;

    private Probe(String bootstrap, String topic) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.partition = new TopicPartition(topic, 0);
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) {
        if (arguments.length != 2) {
            System.err.println("usage: Probe HOST:PORT TOPIC");
            System.exit(2);
        }
        try (Probe probe = new Probe(arguments[0], arguments[1])) {
            report("create-topic", () -> probe.make(probe.topic));
            for (String codec : CODECS) {
                report("produce-" + codec, () -> probe.produce(codec));
            }
            report("consume", probe::consume);
            report("list-offsets", probe::listOffsets);
            report("offsets-by-time", probe::offsetsByTime);
            report("group", probe::group);
            report("group-resume", probe::groupResume);
            report("group-leave", probe::groupLeave);
            report("consumer-protocol", probe::consumerProtocol);
            report("delete-records", probe::deleteRecords);
            report("delete-topic", probe::deleteTopic);
        }
    }

    private static void report(String feature, Check check) {
        try {
            check.run();
            System.out.println(feature + "\tok\t");
        } catch (Exception | AssertionError error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            System.out.println(feature + "\tfail\t" + cause.toString().replaceAll("[\\t\\n]", " "));
        }
    }

    private static void expect(Object got, Object wanted, String what) {
        if (!wanted.equals(got)) {
            throw new AssertionError(what + ": " + got + ", not " + wanted);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private List<ProducerRecord<byte[], byte[]>> records(String codec) {
        long first = BASE_MS + 1000L * CODECS.indexOf(codec);
        List<Header> headers = List.of(
                new RecordHeader("one", bytes("1")),
                new RecordHeader("empty", new byte[0]),
                new RecordHeader("none", (byte[]) null));
        return List.of(
                record(first, bytes(codec + "-key"), bytes((codec + "-value ").repeat(50)), headers),
                record(first + 1, null, bytes(codec + "-no-key"), List.of()),
                record(first + 2, bytes(codec + "-tombstone"), null, List.of()),
                record(first + 3, new byte[0], new byte[0], List.of()));
    }

    private ProducerRecord<byte[], byte[]> record(long time, byte[] key, byte[] value, List<Header> headers) {
        return new ProducerRecord<>(topic, 0, time, key, value, headers);
    }

    private void make(String name) throws Exception {
        make(name, 1);
    }

    private void make(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        until(() -> admin.listTopics().names().get().contains(name), name + " is listed");
    }

    private void produce(String codec) throws Exception {
        Map<String, Object> properties =
                Map.of("bootstrap.servers", bootstrap, "compression.type", codec, "linger.ms", 50);
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(properties, bytes, bytes)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (ProducerRecord<byte[], byte[]> record : records(codec)) {
                sent.add(producer.send(record));
            }
            long offset = (long) PER_CODEC * CODECS.indexOf(codec);
            for (Future<RecordMetadata> one : sent) {
                expect(one.get().offset(), offset++, "offset");
            }
        }
    }

    private void consume() {
        Map<String, Object> properties = Map.of("bootstrap.servers", bootstrap, "auto.offset.reset", "none");
        var bytes = new ByteArrayDeserializer();
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, 0);
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (got.size() < COUNT && System.nanoTime() < end) {
                consumer.poll(Duration.ofSeconds(1)).forEach(got::add);
            }
        }
        expect(got.size(), COUNT, "records that came");
        int offset = 0;
        for (String codec : CODECS) {
            for (ProducerRecord<byte[], byte[]> wanted : records(codec)) {
                ConsumerRecord<byte[], byte[]> record = got.get(offset);
                expect(record.offset(), (long) offset, "offset");
                expect(show(record.key()), show(wanted.key()), "key at " + offset);
                expect(show(record.value()), show(wanted.value()), "value at " + offset);
                expect(show(record.headers()), show(wanted.headers()), "headers at " + offset);
                expect(record.timestamp(), wanted.timestamp(), "time at " + offset);
                offset++;
            }
        }
    }

    private static String show(byte[] bytes) {
        return bytes == null ? "null" : "'" + new String(bytes, StandardCharsets.UTF_8) + "'";
    }

    private static String show(Iterable<Header> headers) {
        List<String> shown = new ArrayList<>();
        headers.forEach(header -> shown.add(header.key() + "=" + show(header.value())));
        return shown.toString();
    }

    private long offset(OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    private void listOffsets() throws Exception {
        expect(offset(OffsetSpec.earliest()), 0L, "earliest");
        expect(offset(OffsetSpec.latest()), (long) COUNT, "latest");
    }

    private void offsetsByTime() throws Exception {
        expect(offset(OffsetSpec.forTimestamp(BASE_MS + 1500)), 8L, "first at or after codec 2");
        expect(offset(OffsetSpec.forTimestamp(BASE_MS + 2001)), 9L, "a time that a record has");
        expect(offset(OffsetSpec.forTimestamp(BASE_MS + 3_600_000)), -1L, "after the last");
        expect(offset(OffsetSpec.maxTimestamp()), COUNT - 1L, "of the greatest time");
    }

    private String grouped() {
        return topic + "-group";
    }

    private KafkaConsumer<byte[], byte[]> member() {
        Map<String, Object> properties = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", grouped(),
                "enable.auto.commit", false,
                "auto.offset.reset", "earliest",
                "heartbeat.interval.ms", 500);
        var bytes = new ByteArrayDeserializer();
        var member = new KafkaConsumer<>(properties, bytes, bytes);
        member.subscribe(List.of(grouped()));
        return member;
    }

    private void group() throws Exception {
        make(grouped(), GROUP_PARTITIONS);
        try (var one = member(); var two = member()) {
            var members = List.of(one, two);
            assigned(members, GROUP_PARTITIONS / 2);
            sendNumbers(0, GROUP_RECORDS);
            expect(receive(members, GROUP_RECORDS), numbers(0, GROUP_RECORDS), "records of the group");
            members.forEach(KafkaConsumer::commitSync);
        }
    }

    private void groupResume() throws Exception {
        sendNumbers(GROUP_RECORDS, GROUP_MORE);
        try (var member = member()) {
            var got = receive(List.of(member), GROUP_MORE);
            expect(got, numbers(GROUP_RECORDS, GROUP_MORE), "records after a restart");
            member.commitSync();
        }
    }

    private void groupLeave() throws Exception {
        try (var stays = member()) {
            try (var leaves = member()) {
                assigned(List.of(stays, leaves), GROUP_PARTITIONS / 2);
            }
            assigned(List.of(stays), GROUP_PARTITIONS);
        }
    }

    /** It is off, and the poll says so. */
    private void consumerProtocol() {
        Map<String, Object> properties = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", topic + "-consumer-protocol",
                "group.protocol", "consumer");
        var bytes = new ByteArrayDeserializer();
        try (var member = new KafkaConsumer<>(properties, bytes, bytes)) {
            member.subscribe(List.of(topic));
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (System.nanoTime() < end) {
                member.poll(Duration.ofSeconds(1));
            }
        } catch (UnsupportedVersionException error) {
            expect(error.getMessage(), PROTOCOL_IS_OFF, "what a poll throws");
            return;
        }
        throw new AssertionError("not a word within " + PATIENCE.toSeconds() + " s");
    }

    private static void assigned(Collection<KafkaConsumer<byte[], byte[]>> members, int partitions)
            throws Exception {
        until(() -> {
            for (var member : members) {
                expect(member.poll(Duration.ofMillis(50)).count(), 0, "records before any was sent");
            }
            return members.stream().allMatch(member -> member.assignment().size() == partitions);
        }, "each member has " + partitions + " partitions");
    }

    private void sendNumbers(int first, int count) throws Exception {
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), bytes, bytes)) {
            for (int number = first; number < first + count; number++) {
                byte[] value = bytes(Integer.toString(number));
                producer.send(new ProducerRecord<>(grouped(), number % GROUP_PARTITIONS, null, value));
            }
        }
    }

    private static List<Integer> receive(Collection<KafkaConsumer<byte[], byte[]>> members, int count)
            throws Exception {
        List<Integer> got = new ArrayList<>();
        until(() -> {
            for (var member : members) {
                for (var record : member.poll(Duration.ofMillis(50))) {
                    got.add(Integer.parseInt(new String(record.value(), StandardCharsets.UTF_8)));
                }
            }
            return got.size() >= count;
        }, count + " records come");
        got.sort(null);
        return got;
    }

    private static List<Integer> numbers(int first, int count) {
        return java.util.stream.IntStream.range(first, first + count).boxed().toList();
    }

    private void deleteRecords() throws Exception {
        var deleted = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(DELETE_BEFORE)));
        expect(deleted.lowWatermarks().get(partition).get().lowWatermark(), DELETE_BEFORE, "low watermark");
        expect(offset(OffsetSpec.earliest()), DELETE_BEFORE, "earliest");
    }

    private void deleteTopic() throws Exception {
        String gone = topic + "-gone";
        make(gone);
        admin.deleteTopics(List.of(gone)).all().get();
        until(() -> !admin.listTopics().names().get().contains(gone), gone + " is gone");
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    /** Waits for what the cluster does in its own time, as deleting a topic is. */
    private static void until(Condition condition, String what) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.holds()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + PATIENCE.toSeconds() + " s: " + what);
            }
            Thread.sleep(50);
        }
    }

    @Override
    public void close() {
        admin.close();
    }
}
