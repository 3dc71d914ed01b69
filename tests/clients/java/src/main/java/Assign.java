import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * What Java's assignors answer, a line for each group that is read. A line has three fields with tabs
 * between them: the assignor's class; the topics, TOPIC:PARTITION|PARTITION... with semicolons between them,
 * a partition being the racks of its replicas with plus signs between them; and the members, ID,INSTANCE,
 * and the subscription's bytes in hex, with semicolons between them. The answer is ID=BYTES, with semicolons
 * between them, or "failed" and why.
 */
public final class Assign {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t");
            ConsumerPartitionAssignor assignor = (ConsumerPartitionAssignor)
                Class.forName(fields[0]).getDeclaredConstructor().newInstance();
            try {
                System.out.println(answer(assignor, cluster(fields[1]), members(fields[2])));
            } catch (RuntimeException failure) {
                System.out.println("failed " + failure);
            }
        }
    }

    private static String answer(
        ConsumerPartitionAssignor assignor, Cluster cluster, Map<String, Subscription> members
    ) {
        return assignor.assign(cluster, new GroupSubscription(members)).groupAssignment().entrySet().stream()
            .map(member -> {
                ByteBuffer buffer = ConsumerProtocol.serializeAssignment(member.getValue());
                byte[] bytes = new byte[buffer.remaining()];
                buffer.get(bytes);
                return member.getKey() + "=" + HexFormat.of().formatHex(bytes);
            })
            .collect(Collectors.joining(";"));
    }

    private static Map<String, Subscription> members(String text) {
        Map<String, Subscription> members = new HashMap<>();
        for (String member : text.split(";")) {
            String[] parts = member.split(",", -1);
            byte[] bytes = HexFormat.of().parseHex(parts[2]);
            Subscription subscription = ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(bytes));
            subscription.setGroupInstanceId(Optional.of(parts[1]).filter(id -> !id.isEmpty()));
            members.put(parts[0], subscription);
        }
        return members;
    }

    private static Cluster cluster(String topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        for (String topic : topics.split(";")) {
            String name = topic.substring(0, topic.indexOf(':'));
            int index = 0;
            for (String racks : topic.substring(name.length() + 1).split("\\|", -1)) {
                List<Node> replicas = new ArrayList<>();
                for (String rack : racks.split("\\+")) {
                    replicas.add(new Node(replicas.size(), "host", 9092, rack.isEmpty() ? null : rack));
                }
                Node[] all = replicas.toArray(Node[]::new);
                partitions.add(new PartitionInfo(name, index++, null, all, all));
            }
        }
        return new Cluster("cluster", List.of(), partitions, Set.of(), Set.of());
    }
}
