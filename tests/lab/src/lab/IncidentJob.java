package lab;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * source -> parse -> enrich (keyed, RocksDB) -> sink, with one fault that can be switched on.
 *
 * <p>Only what Flink 1.12 to 2.x have in common is used, so that one source serves all of them.
 * Arguments are key=value: name, rate (records/s of each source subtask), source-ms (how long the source's thread is
 * blocked for each record), keys, value-bytes,
 * slow-us (time enrich takes for a record), slow-on-s and slow-off-s (it is slow in turns), slow-while (it is
 * slow as long as this file exists), slow-on (it is slow on this host alone), database (host:port of what enrich asks for each
 * record, see Lookup), copies (records enrich emits for each it reads), sink-us (time the sink
 * takes for a record), fail-every-s, decline-every (every n-th checkpoint's asynchronous part fails on the
 * first enrich subtask), async-ms (how long enrich writes at the end of each asynchronous part), sync-ms (how long
 * the synchronous part takes on the first enrich subtask), restore-ms (how long that subtask takes to restore), states
 * (keyed states of enrich), grown-keys and grown-bytes
 * (so many of the keys grow to so many bytes of state each), partitions (subtasks of the source), silent-after-s
 * (there is event time, and after so long the last partition has no more data), idle-after-s (it then counts as idle),
 * second-lag-s (beside all this two inputs are matched, and the event time of the second lies so far behind that of the first),
 * transaction-ms (what enrich emits goes to a second sink too, which commits with checkpoints, and whose transactions time out so),
 * limit (records of the source, then the job finishes), counts-to (enrich writes there how often it saw each key, by its state,
 * when it ends), set.KEY (the job's own setting of that name, over that of the cluster), union-elements (of a union list state of each
 * enrich subtask) and union-keeps (all: a restored subtask keeps what the others wrote, too), ttl-s (how long the value, a map and
 * a list of enrich live; a second list beside them has no time-to-live), steps (instead of all this: so many vertices one behind the
 * other, of step-parallelism subtasks, a few of which take up to step-ms to open), arrives (the source is a log that grows so:
 * see GrowingLog; with kafka it is a topic of that broker: see KafkaLog), watches (the source is a folder: see WatchedFiles).
 */
public final class IncidentJob {
    private static final long NANOS_PER_S = 1_000_000_000L;

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.configure(Configuration.fromMap(arguments.below("set.")), IncidentJob.class.getClassLoader());
        if (arguments.number("steps", 0) > 0) {
            Steps.build(partitions(env, arguments), arguments);
            env.execute(arguments.text("name", "incident"));
            return;
        }
        DataStream<byte[]> enriched = partitions(env, arguments)
                .rebalance()
                .map(new Parse(arguments.number("keys", 1000)))
                .name("parse")
                .setParallelism((int) arguments.number("parse-parallelism", 2))
                .keyBy(key -> key)
                .process(new Enrich(arguments))
                .name("enrich")
                .uid("enrich")
                .setParallelism((int) arguments.number("enrich-parallelism", 2));
        if (arguments.number("transaction-ms", 0) > 0) {
            enriched.addSink(new TransactionalSink(arguments.number("transaction-ms", 0)))
                    .name("transactional")
                    .setParallelism(1);
        }
        enriched.rebalance()
                .flatMap(new Discard(arguments.number("sink-us", 0)))
                .name("sink")
                .setParallelism(1);
        if (arguments.number("second-lag-s", 0) > 0) {
            dated(env, arguments, "first", 0)
                    .keyBy(value -> value % 100)
                    .connect(dated(env, arguments, "second", arguments.number("second-lag-s", 0) * 1000).keyBy(value -> value % 100))
                    .process(new Matched())
                    .name("matched")
                    .uid("matched")
                    .setParallelism(2)
                    .flatMap(new Discard(0))
                    .name("matched-sink")
                    .setParallelism(1);
        }
        env.execute(arguments.text("name", "incident"));
    }

    private static DataStream<Long> dated(StreamExecutionEnvironment env, Arguments arguments, String name, long behindMs) {
        return env.fromSequence(1, Long.MAX_VALUE / 2)
                .setParallelism(1)
                .map(new Throttle(arguments.number("rate", 1000), 0, 0, 0))
                .name(name)
                .setParallelism(1)
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Long>forMonotonousTimestamps()
                        .withTimestampAssigner((value, before) -> System.currentTimeMillis() - behindMs))
                .name(name + " times")
                .setParallelism(1);
    }

    private static DataStream<Long> partitions(StreamExecutionEnvironment env, Arguments arguments) throws Exception {
        int partitions = (int) arguments.number("partitions", 1);
        if (!arguments.text("watches", "").isEmpty()) {
            return of("lab.WatchedFiles", env, partitions, arguments);
        }
        if (!arguments.text("arrives", "").isEmpty()) {
            return of(arguments.text("kafka", "").isEmpty() ? "lab.GrowingLog" : "lab.KafkaLog", env, partitions, arguments);
        }
        long silentAfterS = arguments.number("silent-after-s", 0);
        DataStream<Long> numbers = env.fromSequence(1, arguments.number("limit", Long.MAX_VALUE / 2))
                .setParallelism(partitions)
                .map(new Throttle(
                        arguments.number("rate", 1000),
                        arguments.number("source-ms", 0),
                        arguments.number("burst-records", 0),
                        arguments.number("burst-after-s", 0) * 1000))
                .name("throttle")
                .setParallelism(partitions);
        if (silentAfterS == 0) {
            return numbers;
        }
        long idleAfterS = arguments.number("idle-after-s", 0);
        WatermarkStrategy<Long> asTheyCome = WatermarkStrategy.<Long>forMonotonousTimestamps()
                .withTimestampAssigner((value, before) -> System.currentTimeMillis());
        if (idleAfterS > 0) {
            asTheyCome = asTheyCome.withIdleness(Duration.ofSeconds(idleAfterS));
        }
        return numbers.flatMap(new FallsSilent(silentAfterS * 1000))
                .name("partition")
                .setParallelism(partitions)
                .assignTimestampsAndWatermarks(asTheyCome)
                .name("timestamps")
                .setParallelism(partitions);
    }

    /** Sources that are not there in every release. */
    @SuppressWarnings("unchecked")
    private static DataStream<Long> of(String source, StreamExecutionEnvironment env, int partitions, Arguments arguments)
            throws ReflectiveOperationException {
        java.lang.reflect.Method of = Class.forName(source)
                .getDeclaredMethod("of", StreamExecutionEnvironment.class, int.class, java.util.Map.class);
        return (DataStream<Long>) of.invoke(null, env, partitions, arguments.below(""));
    }

    /** By the name of the task's thread, "… (2/2)#0": to ask for it there is another method in each release. */
    private static boolean isLastSubtask() {
        return Thread.currentThread().getName().matches(".*\\((\\d+)/\\1\\).*");
    }

    /** The last of several partitions has no more data after some time. */
    static final class FallsSilent extends RichFlatMapFunction<Long, Long> {
        private final long afterMs;
        private transient long firstMs;
        private transient boolean isLast;

        FallsSilent(long afterMs) {
            this.afterMs = afterMs;
        }

        @Override
        public void flatMap(Long value, Collector<Long> out) {
            long nowMs = System.currentTimeMillis();
            if (firstMs == 0) {
                firstMs = nowMs;
                isLast = isLastSubtask();
            }
            if (!isLast || nowMs - firstMs < afterMs) {
                out.collect(value);
            }
        }
    }

    /** Lets a steady number of records a second pass; of the last partition, after some time, once many at once. */
    static final class Throttle implements MapFunction<Long, Long> {
        private final long perSecond;
        private final long sourceMs;
        private final long burstRecords;
        private final long burstAfterMs;
        private transient long passed;
        private transient long startedNanos;
        private transient long burstFromMs;
        private transient long burst;

        Throttle(long perSecond, long sourceMs, long burstRecords, long burstAfterMs) {
            this.perSecond = perSecond;
            this.sourceMs = sourceMs;
            this.burstRecords = burstRecords;
            this.burstAfterMs = burstAfterMs;
        }

        @Override
        public Long map(Long value) throws Exception {
            Thread.sleep(sourceMs);
            if (isOfBurst()) {
                return value;
            }
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

        private boolean isOfBurst() {
            if (burst == burstRecords) {
                return false;
            }
            if (burstFromMs == 0) {
                burstFromMs = isLastSubtask() ? System.currentTimeMillis() + burstAfterMs : Long.MAX_VALUE;
            }
            if (System.currentTimeMillis() < burstFromMs) {
                return false;
            }
            burst++;
            return true;
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

        java.util.Map<String, String> below(String prefix) {
            java.util.Map<String, String> found = new java.util.HashMap<>();
            values.forEach((name, value) -> {
                if (name.startsWith(prefix)) {
                    found.put(name.substring(prefix.length()), value);
                }
            });
            return found;
        }
    }

    private IncidentJob() {}
}
