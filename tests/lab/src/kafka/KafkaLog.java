package lab;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A topic of a broker, read by Flink's own Kafka source, and who writes to it, in a process of its own. Releases from 2.0 on.
 *
 * <p>Arguments: kafka (the broker), partitions, arrives and reads (as {@link GrowingLog}), readers (subtasks), ahead (event
 * time of the last partition goes so many times as fast as the clock), aligned-ms (so far one partition may be ahead of the
 * others), log-counts (files fed-N with a line a second: epoch ms, records that the broker acknowledged of partition N; and
 * read-N: epoch ms, records that were read of it).
 */
public final class KafkaLog {
    private static final String TOPIC = "lab";

    private KafkaLog() {}

    static DataStream<Long> of(StreamExecutionEnvironment env, int partitions, Map<String, String> arguments) {
        KafkaSource<Long> source = KafkaSource.<Long>builder()
                .setBootstrapServers(arguments.get("kafka"))
                .setTopics(TOPIC)
                .setGroupId(TOPIC)
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(new Counted(arguments))
                // The client knows the end of a partition as of its last fetch, and fetches again when it has handed out all
                // of it: what comes meanwhile is in no lag.
                .setProperty("fetch.max.bytes", "10000")
                .setProperty("max.partition.fetch.bytes", "10000")
                .setProperty("max.poll.records", "20")
                .build();
        WatermarkStrategy<Long> times = WatermarkStrategy.forMonotonousTimestamps();
        if (arguments.containsKey("aligned-ms")) {
            times = times.withWatermarkAlignment(
                    TOPIC, Duration.ofMillis(Long.parseLong(arguments.get("aligned-ms"))), Duration.ofSeconds(1));
        }
        return env.fromSource(source, times, "kafka log")
                .setParallelism(Integer.parseInt(arguments.getOrDefault("readers", String.valueOf(partitions))));
    }

    /** Writes as the plan says until it is ended. Arguments: as of the job, name=value. */
    public static void main(String[] args) throws Exception {
        Map<String, String> arguments = new HashMap<>();
        for (String arg : args) {
            arguments.put(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
        }
        int partitions = Integer.parseInt(arguments.get("partitions"));
        TreeMap<Long, Long> arrives = GrowingLog.plan(arguments.get("arrives"));
        double ahead = Double.parseDouble(arguments.getOrDefault("ahead", "1"));
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", arguments.get("kafka"),
                "enable.idempotence", false,
                "linger.ms", 20,
                "key.serializer", ByteArraySerializer.class.getName(),
                "value.serializer", ByteArraySerializer.class.getName());
        createTopic(arguments.get("kafka"), partitions);
        List<AtomicLong> written = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            written.add(new AtomicLong());
            count(arguments.get("log-counts") + "-fed-" + partition, written.get(partition));
        }
        long startMs = System.currentTimeMillis();
        double[] due = new double[partitions];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            long beforeMs = startMs;
            while (true) {
                long nowMs = System.currentTimeMillis();
                long perSecond = arrives.floorEntry(nowMs - startMs).getValue();
                for (int partition = 0; partition < partitions; partition++) {
                    long timeMs = partition == partitions - 1 ? startMs + (long) ((nowMs - startMs) * ahead) : nowMs;
                    AtomicLong counter = written.get(partition);
                    due[partition] += perSecond * (nowMs - beforeMs) / 1000.0;
                    for (; due[partition] >= 1; due[partition]--) {
                        producer.send(
                                new ProducerRecord<>(TOPIC, partition, timeMs, null, new byte[100]),
                                (metadata, fault) -> {
                                    if (fault == null) {
                                        counter.incrementAndGet();
                                    }
                                });
                    }
                }
                beforeMs = nowMs;
                Thread.sleep(10);
            }
        }
    }

    /** The broker may just have started. */
    private static void createTopic(String broker, int partitions) throws InterruptedException {
        for (int attempt = 0; ; attempt++) {
            try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
                admin.createTopics(Collections.singletonList(new NewTopic(TOPIC, partitions, (short) 1))).all().get();
                return;
            } catch (java.util.concurrent.ExecutionException fault) {
                if (attempt > 20) {
                    throw new IllegalStateException(fault);
                }
                Thread.sleep(500);
            }
        }
    }

    private static void count(String name, AtomicLong count) {
        Thread counter = new Thread(
                () -> {
                    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Paths.get(name + ".tsv")))) {
                        while (true) {
                            out.println(System.currentTimeMillis() + "\t" + count.get());
                            out.flush();
                            Thread.sleep(1000);
                        }
                    } catch (IOException | InterruptedException fault) {
                        throw new IllegalStateException(fault);
                    }
                },
                "lab counts");
        counter.setDaemon(true);
        counter.start();
    }

    /** Each reader reads no faster than the plan says. */
    private static final class Counted implements KafkaRecordDeserializationSchema<Long> {
        private final TreeMap<Long, Long> reads;
        private final String counts;
        private final long startMs = System.currentTimeMillis();
        private transient Map<Integer, AtomicLong> read;
        private transient long dueNanos;

        Counted(Map<String, String> arguments) {
            reads = GrowingLog.plan(arguments.get("reads"));
            counts = arguments.get("log-counts");
        }

        @Override
        public void open(DeserializationSchema.InitializationContext context) {
            read = new HashMap<>();
        }

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Long> out) throws IOException {
            long perSecond = reads.floorEntry(System.currentTimeMillis() - startMs).getValue();
            long nowNanos = System.nanoTime();
            if (nowNanos < dueNanos) {
                try {
                    Thread.sleep(Math.max(1, (dueNanos - nowNanos) / 1_000_000));
                } catch (InterruptedException fault) {
                    throw new IOException(fault);
                }
            }
            dueNanos = Math.max(dueNanos, nowNanos - 50_000_000) + 1_000_000_000 / perSecond;
            read.computeIfAbsent(record.partition(), this::counted).incrementAndGet();
            out.collect(record.offset());
        }

        private AtomicLong counted(int partition) {
            AtomicLong counter = new AtomicLong();
            count(counts + "-read-" + partition, counter);
            return counter;
        }

        @Override
        public TypeInformation<Long> getProducedType() {
            return Types.LONG;
        }
    }
}
