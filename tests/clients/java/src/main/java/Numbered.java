import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One producer that lives through everything. Each line of its standard input becomes a record of every
 * partition; for each that is acknowledged it prints `PARTITION OFFSET LINE`. It ends with its input, and
 * well if no record was given up.
 */
public final class Numbered {
    /** Longer than any test. */
    private static final int NEVER_MS = 3_600_000;
    /** A leader that is paused keeps its connections: what is under way there is given up this soon. */
    private static final int ANSWER_WITHIN_MS = 4_000;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 4) {
            System.err.println("usage: Numbered HOST:PORT,... TOPIC PARTITIONS all|1");
            System.exit(2);
        }
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        boolean all = arguments[3].equals("all");
        var givenUp = new AtomicBoolean();
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", arguments[0],
                "acks", arguments[3],
                "enable.idempotence", all,
                // Without idempotence only this keeps the order.
                "max.in.flight.requests.per.connection", all ? 5 : 1,
                "delivery.timeout.ms", NEVER_MS,
                "max.block.ms", NEVER_MS,
                "request.timeout.ms", ANSWER_WITHIN_MS,
                "linger.ms", 5);
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var producer = new KafkaProducer<String, String>(settings, new StringSerializer(), new StringSerializer())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String value = line;
                for (int partition = 0; partition < partitions; partition++) {
                    int to = partition;
                    producer.send(new ProducerRecord<>(topic, to, null, value), (metadata, error) -> {
                        if (error == null) {
                            out.println(to + " " + metadata.offset() + " " + value);
                        } else {
                            givenUp.set(true);
                            System.err.println("given up: " + value + " for partition " + to + ": " + error);
                        }
                        out.flush();
                    });
                }
            }
        }
        System.exit(givenUp.get() ? 1 : 0);
    }
}
