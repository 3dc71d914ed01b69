import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * To which partition Java's producer sends a key, a line for each line that is read: the key in hex and the
 * number of partitions, with a tab between them.
 */
public final class Partition {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t", -1);
            byte[] key = HexFormat.of().parseHex(fields[0]);
            System.out.println(BuiltInPartitioner.partitionForKey(key, Integer.parseInt(fields[1])));
        }
    }
}
