package lab;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps a value for each key, slowly where asked, and fails where asked. */
final class Enrich extends KeyedProcessFunction<Long, Long, byte[]> implements CheckpointedFunction {
    private static final int ENTRY_BYTES = 100_000;

    private final int valueBytes;
    private final IncidentJob.Slowness slowness;
    private final String slowWhile;
    private final String slowOn;
    private final long copies;
    private final long slowOnMs;
    private final long slowOffMs;
    private final long failEveryMs;
    private final long declineEvery;
    private final long asyncMs;
    private final long syncMs;
    private final long restoreMs;
    private final long states;
    private final long grownKeys;
    private final long grownBytes;
    private final Burdens burdens;
    private final Lookup lookup;
    private final String countsTo;
    private final long unionElements;
    private final boolean keepsAll;
    private final long ttlS;
    private transient ValueState<Long> count;
    private transient Map<Long, Long> counts;
    private transient ValueState<byte[]> last;
    private transient List<ValueState<Long>> further;
    private transient ListState<Long> recent;
    private transient ListState<Long> ever;
    private transient MapState<Long, Long> seenAt;
    private transient MapState<Long, byte[]> entries;
    private transient Map<Long, Long> grown;
    private transient Random random;
    private transient ListState<Fragile> fragile;
    private transient long startedMs;
    private transient long lookedMs;
    private transient boolean isThere;

    Enrich(IncidentJob.Arguments arguments) {
        valueBytes = (int) arguments.number("value-bytes", 200);
        slowness = new IncidentJob.Slowness(arguments.number("slow-us", 0));
        slowWhile = arguments.text("slow-while", "");
        slowOn = arguments.text("slow-on", "");
        copies = arguments.number("copies", 1);
        slowOnMs = arguments.number("slow-on-s", 0) * 1000;
        slowOffMs = arguments.number("slow-off-s", 0) * 1000;
        failEveryMs = arguments.number("fail-every-s", 0) * 1000;
        declineEvery = arguments.number("decline-every", 0);
        asyncMs = arguments.number("async-ms", 0);
        syncMs = arguments.number("sync-ms", 0);
        restoreMs = arguments.number("restore-ms", 0);
        states = arguments.number("states", 1);
        grownKeys = arguments.number("grown-keys", 0);
        grownBytes = arguments.number("grown-bytes", 0);
        burdens = new Burdens(arguments);
        lookup = new Lookup(arguments.text("database", ""));
        countsTo = arguments.text("counts-to", "");
        unionElements = arguments.number("union-elements", 0);
        keepsAll = arguments.text("union-keeps", "own").equals("all");
        ttlS = arguments.number("ttl-s", 0);
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        if (context.isRestored() && isFirst()) {
            Thread.sleep(restoreMs);
        }
        burdens.start();
        lookup.start();
        last = context.getKeyedStateStore().getState(expiring(new ValueStateDescriptor<>("last", byte[].class)));
        if (ttlS > 0) {
            seenAt = context.getKeyedStateStore().getMapState(expiring(new MapStateDescriptor<>("seen-at", Long.class, Long.class)));
            recent = context.getKeyedStateStore().getListState(expiring(new ListStateDescriptor<>("recent", Long.class)));
            ever = context.getKeyedStateStore().getListState(new ListStateDescriptor<>("ever", Long.class));
        }
        further = new ArrayList<>();
        for (long number = 1; number < states; number++) {
            further.add(context.getKeyedStateStore().getState(new ValueStateDescriptor<>("further-" + number, Long.class)));
        }
        if (grownKeys > 0) {
            entries = context.getKeyedStateStore().getMapState(new MapStateDescriptor<>("entries", Long.class, byte[].class));
        }
        if (!countsTo.isEmpty()) {
            count = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("count", Long.class));
            counts = new HashMap<>();
        }
        fragile = context.getOperatorStateStore()
                .getListState(new ListStateDescriptor<>("fragile", TypeInformation.of(Fragile.class)));
        if (unionElements > 0) {
            fillUnion(context);
        }
        grown = new HashMap<>();
        random = new Random(1);
        startedMs = System.currentTimeMillis();
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        boolean breaks = declineEvery > 0 && context.getCheckpointId() % declineEvery == 0 && isFirst();
        fragile.clear();
        fragile.add(new Fragile(breaks, asyncMs, context.getCheckpointId()));
        if (isFirst()) {
            Thread.sleep(syncMs);
        }
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
        burdens.take();
        lookup.ask(key);
        byte[] value = last.value() == null ? new byte[valueBytes] : last.value();
        value[0]++;
        last.update(value);
        if (count != null) {
            long seen = (count.value() == null ? 0 : count.value()) + 1;
            count.update(seen);
            counts.put(key, seen);
        }
        for (ValueState<Long> one : further) {
            one.update(nowMs);
        }
        if (ttlS > 0) {
            seenAt.put(nowMs / 1000, nowMs);
            recent.add(nowMs);
            ever.add(nowMs);
        }
        if (key < grownKeys) {
            grow(key);
        }
        for (long copy = 0; copy < copies; copy++) {
            out.collect(value);
        }
    }

    @Override
    public void close() throws Exception {
        lookup.stop();
        if (counts != null) {
            List<String> lines = new ArrayList<>();
            counts.forEach((key, seen) -> lines.add(key + " " + seen));
            Files.write(Paths.get(countsTo + (isFirst() ? ".1" : ".2")), lines);
        }
    }

    /** A restore hands the elements of all subtasks to each. Keeping them all, as a careless function does, multiplies them. */
    private void fillUnion(FunctionInitializationContext context) throws Exception {
        ListState<Long> union =
                context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("known-to-all", Long.class));
        if (context.isRestored() && keepsAll) {
            return;
        }
        union.clear();
        for (long element = 0; element < unionElements; element++) {
            union.add(element);
        }
    }

    private <D extends StateDescriptor<?, ?>> D expiring(D descriptor) {
        if (ttlS > 0) {
            descriptor.enableTimeToLive(StateTtlConfig.newBuilder(java.time.Duration.ofSeconds(ttlS)).build());
        }
        return descriptor;
    }

    private static boolean isFirst() {
        return Thread.currentThread().getName().contains("(1/");
    }

    /** Random bytes, which no compression makes smaller. */
    private void grow(long key) throws Exception {
        long entry = grown.merge(key, 1L, Long::sum);
        if (entry * ENTRY_BYTES <= grownBytes) {
            byte[] content = new byte[ENTRY_BYTES];
            random.nextBytes(content);
            entries.put(entry, content);
        }
    }

    private boolean isSlowNow(long nowMs) {
        if (!slowOn.isEmpty()) {
            return System.getProperty("log.file").contains(slowOn);
        }
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
