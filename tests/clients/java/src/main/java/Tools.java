import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs the commands of a transcript with Apache Kafka's own tools, all in one process, and prints the
 * transcript anew. With `-` for the transcript it reads command after command from its standard input, and
 * prints a line `$` behind what each has printed. See ../../../../README.md.
 */
public final class Tools {
    private static final String PROMPT = "$ ";
    private static final ConcurrentLinkedQueue<Runnable> HOOKS = new ConcurrentLinkedQueue<>();
    private static volatile CompletableFuture<Integer> ended;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: Tools HOST:PORT TRANSCRIPT");
            System.exit(2);
        }
        // A tool that ends its process ends its thread alone; what it left to do at the end is done then.
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        PrintStream out = System.out;
        boolean asked = arguments[1].equals("-");
        var commands = asked
                ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                : Files.newBufferedReader(Path.of(arguments[1]));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            if (asked) {
                out.print(run(line, arguments[0]) + PROMPT.trim() + "\n");
                out.flush();
            } else if (line.startsWith("#")) {
                out.println(line);
            } else if (line.startsWith(PROMPT)) {
                out.print(line + "\n" + run(line.substring(PROMPT.length()), arguments[0]));
            }
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void end(int code) {
        ended.complete(code);
        while (true) {
            LockSupport.park();
        }
    }

    /** `TOOL OPTIONS... <<< INPUT`; an option `json:TEXT` stands for a file with that text. */
    private static String run(String line, String bootstrap) throws Exception {
        String[] halves = line.split(" <<< ", 2);
        String input = halves.length == 1 ? "" : halves[1].replace("\\n", "\n").replace("\\t", "\t");
        List<String> words = new ArrayList<>();
        for (String word : halves[0].trim().split(" +")) {
            words.add(word.startsWith("json:") ? file(word.substring(5)) : word.replace("BOOTSTRAP", bootstrap));
        }
        Class<?> tool = Class.forName("org.apache.kafka.tools." + words.remove(0));
        var said = new ByteArrayOutputStream();
        var printed = new PrintStream(said, true, StandardCharsets.UTF_8);
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(printed);
        System.setErr(printed);
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        ended = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                tool.getMethod("main", String[].class).invoke(null, (Object) words.toArray(String[]::new));
                ended.complete(0);
            } catch (InvocationTargetException error) {
                error.getCause().printStackTrace(printed);
                ended.complete(1);
            } catch (ReflectiveOperationException error) {
                ended.completeExceptionally(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        int code = ended.get();
        for (Runnable hook = HOOKS.poll(); hook != null; hook = HOOKS.poll()) {
            hook.run();
        }
        System.setOut(out);
        System.setErr(err);
        String text = said.toString(StandardCharsets.UTF_8);
        text = text.isEmpty() || text.endsWith("\n") ? text : text + "\n";
        return code == 0 ? text : text + "exit " + code + "\n";
    }

    private static String file(String text) throws Exception {
        Path path = Files.createTempFile("tools", ".json");
        path.toFile().deleteOnExit();
        return Files.writeString(path, text).toString();
    }
}
