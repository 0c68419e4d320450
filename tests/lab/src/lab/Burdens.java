package lab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** What makes a JVM suffer: memory that outlives the task, a heap nearly full, a thread that computes. */
final class Burdens implements java.io.Serializable {
    private static final int PIECE_BYTES = 1_000_000;

    private final long leakedBytes;
    private final long leakedClasses;
    private final long hoardedBytes;
    private final long garbageBytes;
    private final long burnedNanos;
    private transient List<byte[]> hoard;
    private transient byte[][] recent;
    private transient int next;
    private transient long mixed;

    Burdens(IncidentJob.Arguments arguments) {
        leakedBytes = arguments.number("leaked-bytes", 0);
        leakedClasses = arguments.number("leaked-classes", 0);
        hoardedBytes = arguments.number("hoarded-bytes", 0);
        garbageBytes = arguments.number("garbage-bytes", 0);
        burnedNanos = arguments.number("burn-us", 0) * 1000;
    }

    void start() throws Exception {
        if (leakedBytes + leakedClasses > 0) {
            leak();
        }
        hoard = new ArrayList<>();
        for (long bytes = 0; bytes < hoardedBytes; bytes += PIECE_BYTES) {
            hoard.add(new byte[PIECE_BYTES]);
        }
        recent = new byte[500][];
    }

    void take() {
        if (garbageBytes > 0) {
            recent[next++ % recent.length] = new byte[(int) garbageBytes];
        }
        burn();
    }

    private void burn() {
        long until = burnedNanos > 0 ? System.nanoTime() + burnedNanos : 0;
        while (until > 0 && System.nanoTime() < until) {
            mixed = mixed * 31 + 7;
        }
    }

    /** A thread that nobody stops holds on to all that its task had. */
    private void leak() throws Exception {
        ByteBuffer buffer = leakedBytes > 0 ? ByteBuffer.allocateDirect((int) leakedBytes) : null;
        List<Class<?>> classes = new ArrayList<>();
        byte[] code = codeOf("Fragile");
        for (long number = 0; number < leakedClasses; number++) {
            classes.add(new Loader(getClass().getClassLoader()).define("lab.Fragile", code));
        }
        Thread held = new Thread(() -> {
            while (buffer != null || !classes.isEmpty()) {
                try {
                    Thread.sleep(3_600_000);
                } catch (InterruptedException ignored) {
                    // goes on, as such threads do
                }
            }
        }, "lab-leaked");
        held.setDaemon(true);
        held.start();
    }

    private static byte[] codeOf(String name) throws IOException {
        try (InputStream in = Burdens.class.getResourceAsStream(name + ".class")) {
            byte[] code = new byte[100_000];
            int length = 0;
            for (int read = in.read(code); read > 0; read = in.read(code, length, code.length - length)) {
                length += read;
            }
            return java.util.Arrays.copyOf(code, length);
        }
    }

    private static final class Loader extends ClassLoader {
        Loader(ClassLoader parent) {
            super(parent);
        }

        Class<?> define(String name, byte[] code) throws ClassNotFoundException {
            Class<?> defined = defineClass(name, code, 0, code.length);
            defined.getDeclaredMethods(); // linked as far as that
            return defined;
        }
    }
}
