package lab;

import java.io.IOException;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.types.CopyableValue;
import org.apache.flink.util.Collector;

/**
 * source -> parse -> enrich (keyed, RocksDB) -> sink, with one fault that can be switched on.
 *
 * <p>Only what Flink 1.12 to 2.x have in common is used, so that one source serves all of them.
 * Arguments are key=value: name, rate (records/s of each source subtask), keys, value-bytes,
 * slow-us (time enrich takes for a record), slow-on-s and slow-off-s (it is slow in turns), slow-while (it is
 * slow as long as this file exists), copies (records enrich emits for each it reads), sink-us (time the sink
 * takes for a record), fail-every-s, decline-every (every n-th checkpoint's asynchronous part fails on the
 * first enrich subtask), async-ms (how long enrich writes at the end of each asynchronous part).
 */
public final class IncidentJob {
    private static final long NANOS_PER_S = 1_000_000_000L;

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.fromSequence(1, Long.MAX_VALUE / 2)
                .setParallelism(1)
                .map(new Throttle(arguments.number("rate", 1000)))
                .name("throttle")
                .setParallelism(1)
                .rebalance()
                .map(new Parse(arguments.number("keys", 1000)))
                .name("parse")
                .setParallelism(2)
                .keyBy(key -> key)
                .process(new Enrich(arguments))
                .name("enrich")
                .uid("enrich")
                .setParallelism(2)
                .rebalance()
                .flatMap(new Discard(arguments.number("sink-us", 0)))
                .name("sink")
                .setParallelism(1);
        env.execute(arguments.text("name", "incident"));
    }

    /** Lets a steady number of records a second pass. */
    static final class Throttle implements MapFunction<Long, Long> {
        private final long perSecond;
        private transient long passed;
        private transient long startedNanos;

        Throttle(long perSecond) {
            this.perSecond = perSecond;
        }

        @Override
        public Long map(Long value) throws Exception {
            if (passed == 0) {
                startedNanos = System.nanoTime();
            }
            long dueNanos = startedNanos + passed++ * NANOS_PER_S / perSecond;
            long earlyMs = (dueNanos - System.nanoTime()) / 1_000_000;
            if (earlyMs > 0) {
                Thread.sleep(earlyMs);
            } else if (earlyMs < -1000) {
                passed = 0; // held up by back-pressure: do not catch up in a burst
            }
            return value;
        }
    }

    static final class Parse implements MapFunction<Long, Long> {
        private final long keys;

        Parse(long keys) {
            this.keys = keys;
        }

        @Override
        public Long map(Long value) {
            return value % keys;
        }
    }

    static final class Discard implements FlatMapFunction<byte[], Long> {
        private final Slowness slowness;

        Discard(long micros) {
            slowness = new Slowness(micros);
        }

        @Override
        public void flatMap(byte[] value, Collector<Long> out) throws Exception {
            slowness.take();
        }
    }

    /** Time that a record costs. A thread sleeps no shorter than about a millisecond, so short times are saved up. */
    static final class Slowness implements java.io.Serializable {
        private final long micros;
        private long owedMicros;

        Slowness(long micros) {
            this.micros = micros;
        }

        void take() throws InterruptedException {
            owedMicros += micros;
            if (owedMicros >= 2000) {
                Thread.sleep(owedMicros / 1000);
                owedMicros %= 1000;
            }
        }
    }

    /** Keeps a value for each key, slowly where asked, and fails where asked. */
    static final class Enrich extends KeyedProcessFunction<Long, Long, byte[]> implements CheckpointedFunction {
        private final int valueBytes;
        private final Slowness slowness;
        private final String slowWhile;
        private final long copies;
        private final long slowOnMs;
        private final long slowOffMs;
        private final long failEveryMs;
        private final long declineEvery;
        private final long asyncMs;
        private transient ValueState<byte[]> last;
        private transient ListState<Fragile> fragile;
        private transient long startedMs;
        private transient long lookedMs;
        private transient boolean isThere;

        Enrich(Arguments arguments) {
            valueBytes = (int) arguments.number("value-bytes", 200);
            slowness = new Slowness(arguments.number("slow-us", 0));
            slowWhile = arguments.text("slow-while", "");
            copies = arguments.number("copies", 1);
            slowOnMs = arguments.number("slow-on-s", 0) * 1000;
            slowOffMs = arguments.number("slow-off-s", 0) * 1000;
            failEveryMs = arguments.number("fail-every-s", 0) * 1000;
            declineEvery = arguments.number("decline-every", 0);
            asyncMs = arguments.number("async-ms", 0);
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            last = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("last", byte[].class));
            fragile = context.getOperatorStateStore()
                    .getListState(new ListStateDescriptor<>("fragile", TypeInformation.of(Fragile.class)));
            startedMs = System.currentTimeMillis();
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            boolean breaks = declineEvery > 0
                    && context.getCheckpointId() % declineEvery == 0
                    && Thread.currentThread().getName().contains("(1/");
            fragile.clear();
            fragile.add(new Fragile(breaks, asyncMs, context.getCheckpointId()));
        }

        @Override
        public void processElement(Long key, Context context, Collector<byte[]> out) throws Exception {
            long nowMs = System.currentTimeMillis();
            if (failEveryMs > 0 && nowMs - startedMs > failEveryMs) {
                throw new IllegalStateException("lab: enrich gives up after " + failEveryMs / 1000 + " s");
            }
            if (isSlowNow(nowMs)) {
                slowness.take();
            }
            byte[] value = last.value() == null ? new byte[valueBytes] : last.value();
            value[0]++;
            last.update(value);
            for (long copy = 0; copy < copies; copy++) {
                out.collect(value);
            }
        }

        private boolean isSlowNow(long nowMs) {
            if (!slowWhile.isEmpty()) {
                if (nowMs - lookedMs > 500) {
                    isThere = new java.io.File(slowWhile).exists();
                    lookedMs = nowMs;
                }
                return isThere;
            }
            return slowOffMs == 0 || (nowMs - startedMs) % (slowOnMs + slowOffMs) < slowOnMs;
        }
    }

    /** Copied in the synchronous part of a snapshot, written in the asynchronous one, where it may break. */
    public static final class Fragile implements CopyableValue<Fragile> {
        private boolean breaks;
        private long takesMs;
        private long checkpointId;

        public Fragile() {}

        Fragile(boolean breaks, long takesMs, long checkpointId) {
            this.breaks = breaks;
            this.takesMs = takesMs;
            this.checkpointId = checkpointId;
        }

        @Override
        public void write(DataOutputView out) throws IOException {
            if (breaks) {
                throw new IOException("lab: the disk refuses the snapshot of checkpoint " + checkpointId);
            }
            try {
                Thread.sleep(takesMs); // keyed state is uploaded before operator state is written
            } catch (InterruptedException interrupted) {
                throw new IOException("lab: the snapshot was called off", interrupted);
            }
            out.writeLong(checkpointId);
        }

        @Override
        public void read(DataInputView in) throws IOException {
            checkpointId = in.readLong();
        }

        @Override
        public int getBinaryLength() {
            return Long.BYTES;
        }

        @Override
        public void copyTo(Fragile target) {
            target.breaks = breaks;
            target.takesMs = takesMs;
            target.checkpointId = checkpointId;
        }

        @Override
        public Fragile copy() {
            return new Fragile(breaks, takesMs, checkpointId);
        }

        @Override
        public void copy(DataInputView source, DataOutputView target) throws IOException {
            target.writeLong(source.readLong());
        }
    }

    static final class Arguments {
        private final java.util.Map<String, String> values = new java.util.HashMap<>();

        Arguments(String[] args) {
            for (String argument : args) {
                String[] pair = argument.split("=", 2);
                if (pair.length != 2) {
                    throw new IllegalArgumentException("Not key=value: " + argument);
                }
                values.put(pair[0], pair[1]);
            }
        }

        long number(String name, long otherwise) {
            return Long.parseLong(values.getOrDefault(name, String.valueOf(otherwise)));
        }

        String text(String name, String otherwise) {
            return values.getOrDefault(name, otherwise);
        }
    }

    private IncidentJob() {}
}
