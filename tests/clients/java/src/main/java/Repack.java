import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Reads a batch with Java's classes, puts its records into another with the same settings, and prints that:
 * a line of hex for each line of hex.
 */
public final class Repack {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(line));
            MutableRecordBatch batch = MemoryRecords.readableRecords(bytes).batches().iterator().next();
            batch.ensureValid();
            ByteBuffer packed = repack(batch).buffer();
            byte[] answer = new byte[packed.remaining()];
            packed.get(answer);
            System.out.println(HexFormat.of().formatHex(answer));
        }
    }

    private static MemoryRecords repack(MutableRecordBatch batch) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1024), batch.magic(), Compression.of(batch.compressionType()).build(),
            TimestampType.CREATE_TIME, batch.baseOffset(), RecordBatch.NO_TIMESTAMP, batch.producerId(),
            batch.producerEpoch(), batch.baseSequence(), batch.isTransactional(), batch.partitionLeaderEpoch());
        for (Record record : batch) {
            builder.append(record.timestamp(), record.key(), record.value(), record.headers());
        }
        return builder.build();
    }
}
