import java.net.URI;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Clients that make directories one after the other, as fast as the NameNode takes them: URI CLIENTS SECONDS.
 * Prints how many calls they made, and how many ms the slowest took.
 */
public class ManyCalls {
    public static void main(String[] arguments) throws Exception {
        FileSystem hdfs = FileSystem.get(URI.create(arguments[0]), new Configuration());
        int clients = Integer.parseInt(arguments[1]);
        long until = System.nanoTime() + Long.parseLong(arguments[2]) * 1_000_000_000L;
        AtomicLong calls = new AtomicLong();
        AtomicLong slowestNs = new AtomicLong();
        Thread[] threads = new Thread[clients];
        for (int client = 0; client < clients; client++) {
            String below = "/load/" + client + "/";
            threads[client] = new Thread(() -> {
                try {
                    for (int number = 0; System.nanoTime() < until; number++) {
                        long begun = System.nanoTime();
                        hdfs.mkdirs(new Path(below + number));
                        slowestNs.accumulateAndGet(System.nanoTime() - begun, Math::max);
                        calls.incrementAndGet();
                    }
                } catch (Exception failure) {
                    failure.printStackTrace();
                    System.exit(1);
                }
            });
            threads[client].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(calls.get() + " " + slowestNs.get() / 1_000_000);
    }
}
