package lab;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A log that grows by the clock, a split for each subtask, as a topic does: what is not read yet is its lag. It reports
 * what FLIP-33 asks of a source. Releases from 1.17 on; other releases do not get it.
 *
 * <p>Arguments: arrives and reads (records/s of a split, as of so many seconds since the job was submitted: 0:200,60:50),
 * dead-after-s (the last split is read no more), log-counts (a file for each split, with a line a second: epoch ms,
 * records that are in the split, records that were read of it).
 */
public final class GrowingLog implements Source<Long, GrowingLog.Part, Integer>, ResultTypeQueryable<Long> {
    private final int parts;
    private final TreeMap<Long, Long> arrives;
    private final TreeMap<Long, Long> reads;
    private final long deadAfterMs;
    private final String counts;
    private final long startMs = System.currentTimeMillis();

    private GrowingLog(int parts, Map<String, String> arguments) {
        this.parts = parts;
        arrives = plan(arguments.get("arrives"));
        reads = plan(arguments.get("reads"));
        deadAfterMs = 1000 * Long.parseLong(arguments.getOrDefault("dead-after-s", "1000000000"));
        counts = arguments.getOrDefault("log-counts", "");
    }

    static DataStream<Long> of(StreamExecutionEnvironment env, int parts, Map<String, String> arguments) {
        return env.fromSource(new GrowingLog(parts, arguments), WatermarkStrategy.forMonotonousTimestamps(), "growing log")
                .setParallelism(parts);
    }

    static TreeMap<Long, Long> plan(String text) {
        TreeMap<Long, Long> perSecond = new TreeMap<>();
        for (String step : text.split(",")) {
            String[] pair = step.split(":");
            perSecond.put(Long.parseLong(pair[0]) * 1000, Long.parseLong(pair[1]));
        }
        return perSecond;
    }

    /** Records that are in a split by then. */
    private long arrived(long nowMs) {
        long total = 0;
        long fromMs = 0;
        long rate = 0;
        for (Map.Entry<Long, Long> step : arrives.entrySet()) {
            long untilMs = Math.min(step.getKey(), nowMs - startMs);
            total += rate * Math.max(0, untilMs - fromMs);
            fromMs = step.getKey();
            rate = step.getValue();
        }
        return (total + rate * Math.max(0, nowMs - startMs - fromMs)) / 1000;
    }

    /** When a record came to its split: by halving, as its number only grows. */
    private long arrivedAtMs(long record) {
        long earliest = startMs;
        long latest = System.currentTimeMillis();
        while (earliest < latest) {
            long middle = (earliest + latest) / 2;
            if (arrived(middle) >= record) {
                latest = middle;
            } else {
                earliest = middle + 1;
            }
        }
        return earliest;
    }

    static final class Part implements SourceSplit {
        final int index;
        final long read;

        Part(int index, long read) {
            this.index = index;
            this.read = read;
        }

        @Override
        public String splitId() {
            return String.valueOf(index);
        }
    }

    private final class Reader implements SourceReader<Long, Part> {
        private final SourceReaderContext context;
        private volatile int index = -1;
        private volatile long read;
        private volatile boolean closed;
        private volatile long newestMs;
        private long dueNanos;

        Reader(SourceReaderContext context) {
            this.context = context;
        }

        @Override
        public void start() {}

        @Override
        public void addSplits(List<Part> assigned) {
            for (Part part : assigned) {
                index = part.index;
                read = part.read;
            }
            // As Kafka's source does: none before it has a split.
            context.metricGroup().setPendingRecordsGauge(() -> arrived(System.currentTimeMillis()) - read);
            context.metricGroup().gauge("currentFetchEventTimeLag", () -> newestMs == 0 ? -1 : System.currentTimeMillis() - newestMs);
            if (!counts.isEmpty()) {
                Thread counter = new Thread(this::count, "lab counts of split " + index);
                counter.setDaemon(true);
                counter.start();
            }
        }

        private void count() {
            try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Paths.get(counts + "-" + index + ".tsv")))) {
                while (!closed) {
                    long nowMs = System.currentTimeMillis();
                    out.println(nowMs + "\t" + arrived(nowMs) + "\t" + read);
                    out.flush();
                    Thread.sleep(1000);
                }
            } catch (IOException | InterruptedException fault) {
                throw new IllegalStateException(fault);
            }
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Long> output) throws InterruptedException {
            long nowMs = System.currentTimeMillis();
            boolean isDead = index == parts - 1 && nowMs - startMs > deadAfterMs;
            if (index < 0 || isDead || read >= arrived(nowMs)) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            long nowNanos = System.nanoTime();
            if (nowNanos < dueNanos) {
                Thread.sleep(Math.max(1, (dueNanos - nowNanos) / 1_000_000)); // as a fetch that takes its time
                return InputStatus.MORE_AVAILABLE;
            }
            long perSecond = reads.floorEntry(nowMs - startMs).getValue();
            dueNanos = Math.max(dueNanos, nowNanos - 50_000_000) + 1_000_000_000 / perSecond;
            long record = read + 1;
            newestMs = arrivedAtMs(record);
            output.collect(record, newestMs);
            read = record;
            return InputStatus.MORE_AVAILABLE;
        }

        @Override
        public List<Part> snapshotState(long checkpointId) {
            return index < 0 ? Collections.emptyList() : Collections.singletonList(new Part(index, read));
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return CompletableFuture.runAsync(() -> {}, CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {
            closed = true;
        }
    }

    /** One split to each reader. */
    private static final class Enumerator implements SplitEnumerator<Part, Integer> {
        private final SplitEnumeratorContext<Part> context;
        private final Map<Integer, Part> waiting = new HashMap<>();

        Enumerator(SplitEnumeratorContext<Part> context, int parts) {
            this.context = context;
            for (int index = 0; index < parts; index++) {
                waiting.put(index, new Part(index, 0));
            }
        }

        @Override
        public void start() {}

        @Override
        public void addReader(int subtask) {
            Part part = waiting.remove(subtask);
            if (part != null) {
                context.assignSplit(part, subtask);
            }
        }

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<Part> back, int subtask) {
            back.forEach(part -> waiting.put(part.index, part));
        }

        @Override
        public Integer snapshotState(long checkpointId) {
            return 0;
        }

        @Override
        public void close() {}
    }

    private static final class Parts implements SimpleVersionedSerializer<Part> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Part part) {
            return ByteBuffer.allocate(12).putInt(part.index).putLong(part.read).array();
        }

        @Override
        public Part deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new Part(buffer.getInt(), buffer.getLong());
        }
    }

    private static final class Nothing implements SimpleVersionedSerializer<Integer> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Integer nothing) {
            return new byte[0];
        }

        @Override
        public Integer deserialize(int version, byte[] bytes) {
            return 0;
        }
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Long, Part> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    @Override
    public SplitEnumerator<Part, Integer> createEnumerator(SplitEnumeratorContext<Part> context) {
        return new Enumerator(context, parts);
    }

    @Override
    public SplitEnumerator<Part, Integer> restoreEnumerator(SplitEnumeratorContext<Part> context, Integer nothing) {
        return new Enumerator(context, 0);
    }

    @Override
    public SimpleVersionedSerializer<Part> getSplitSerializer() {
        return new Parts();
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Nothing();
    }

    @Override
    public TypeInformation<Long> getProducedType() {
        return Types.LONG;
    }
}
