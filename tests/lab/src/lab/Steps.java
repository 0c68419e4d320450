package lab;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;

/** Vertices that each hand on what they get to the same subtask of the next one: many tasks with few channels between them. */
final class Steps {
    static void build(DataStream<Long> numbers, IncidentJob.Arguments arguments) {
        long steps = arguments.number("steps", 0);
        for (long number = 1; number <= steps; number++) {
            numbers = numbers.map(new Step(number, arguments.number("step-ms", 0)))
                    .name("step " + number)
                    .setParallelism((int) arguments.number("step-parallelism", 2))
                    .disableChaining();
        }
    }

    /** One subtask of eighty is slow to open, each by a time of its own. */
    static final class Step implements MapFunction<Long, Long>, CheckpointedFunction {
        private static final Pattern SUBTASK = Pattern.compile("\\((\\d+)/\\d+\\)");
        private static final int EVERY = 80;

        private final long number;
        private final long slowMs;

        Step(long number, long slowMs) {
            this.number = number;
            this.slowMs = slowMs;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            Matcher found = SUBTASK.matcher(Thread.currentThread().getName());
            if (found.find() && Long.parseLong(found.group(1)) % EVERY == number) {
                Thread.sleep(slowMs / 2 + slowMs * Long.parseLong(found.group(1)) / 1000);
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {}

        @Override
        public Long map(Long value) {
            return value;
        }
    }

    private Steps() {}
}
