package lab;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.CopyableValue;

/** Copied in the synchronous part of a snapshot, written in the asynchronous one, where it may break. */
public final class Fragile implements CopyableValue<Fragile> {
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
