package lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps what comes by the first input until event time, which is that of the slower input, has passed it by a second. */
final class Matched extends KeyedCoProcessFunction<Long, Long, Long, byte[]> {
    private static final long WITHIN_MS = 1000;
    private transient MapState<Long, Long> waiting;

    @Override
    public void processElement1(Long value, Context context, Collector<byte[]> out) throws Exception {
        waiting().put(value, context.timestamp());
        context.timerService().registerEventTimeTimer(context.timestamp() + WITHIN_MS);
    }

    @Override
    public void processElement2(Long value, Context context, Collector<byte[]> out) {}

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<byte[]> out) throws Exception {
        List<Long> passed = new ArrayList<>();
        for (Map.Entry<Long, Long> one : waiting().entries()) {
            if (one.getValue() + WITHIN_MS <= timestamp) {
                passed.add(one.getKey());
            }
        }
        for (Long value : passed) {
            waiting().remove(value);
        }
    }

    private MapState<Long, Long> waiting() {
        if (waiting == null) {
            waiting = getRuntimeContext().getMapState(new MapStateDescriptor<>("waiting", Long.class, Long.class));
        }
        return waiting;
    }
}
