package lab;

import java.util.UUID;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.VoidSerializer;
import org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction;

/**
 * Commits with checkpoints, to a store that aborts each transaction that is open for longer than a time-out, as a Kafka broker does.
 *
 * <p>Flink then tells by itself how long each was open, and what it lost: nothing is logged here. A transaction is when it was begun
 * and a random id.
 */
final class TransactionalSink extends TwoPhaseCommitSinkFunction<byte[], String, Void> {
    private final long timeoutMs;

    TransactionalSink(long timeoutMs) {
        super(StringSerializer.INSTANCE, VoidSerializer.INSTANCE);
        this.timeoutMs = timeoutMs;
        setTransactionTimeout(timeoutMs);
        enableTransactionTimeoutWarnings(0);
        ignoreFailuresAfterTransactionTimeout();
    }

    @Override
    protected String beginTransaction() {
        return System.currentTimeMillis() + "-" + UUID.randomUUID();
    }

    @Override
    protected void invoke(String transaction, byte[] value, Context context) {}

    @Override
    protected void preCommit(String transaction) {}

    @Override
    protected void commit(String transaction) {
        long openMs = System.currentTimeMillis() - Long.parseLong(transaction.split("-", 2)[0]);
        if (openMs > timeoutMs) {
            throw new IllegalStateException("transaction " + transaction + " was aborted after " + timeoutMs + " ms");
        }
    }

    @Override
    protected void abort(String transaction) {}
}
