package lab;

import java.io.IOException;
import java.net.URI;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;

/** {@code slow:///folder}: local files, each of which is written no faster than a number of bytes a second, as over one slow connection. */
public final class SlowFileSystem extends LocalFileSystem {
    private static final String SCHEME = "slow";
    private static final ConfigOption<Long> BYTES_PER_S =
            ConfigOptions.key("lab.storage.bytes-per-s").longType().defaultValue(Long.MAX_VALUE);

    private final long bytesPerS;

    private SlowFileSystem(long bytesPerS) {
        this.bytesPerS = bytesPerS;
    }

    @Override
    public URI getUri() {
        return URI.create(SCHEME + ":///");
    }

    @Override
    public FSDataOutputStream create(Path path, WriteMode mode) throws IOException {
        return new Throttled(super.create(path, mode), bytesPerS);
    }

    /** Found by Flink through META-INF/services. */
    public static final class Factory implements FileSystemFactory {
        private long bytesPerS;

        @Override
        public String getScheme() {
            return SCHEME;
        }

        @Override
        public void configure(Configuration configuration) {
            bytesPerS = configuration.get(BYTES_PER_S);
        }

        @Override
        public FileSystem create(URI uri) {
            return new SlowFileSystem(bytesPerS);
        }
    }

    private static final class Throttled extends FSDataOutputStream {
        private final FSDataOutputStream out;
        private final long bytesPerS;
        private final long startedNanos = System.nanoTime();
        private long written;

        Throttled(FSDataOutputStream out, long bytesPerS) {
            this.out = out;
            this.bytesPerS = bytesPerS;
        }

        @Override
        public void write(int one) throws IOException {
            out.write(one);
            await(1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
            await(length);
        }

        private void await(int length) throws IOException {
            written += length;
            long earlyMs = written * 1000 / bytesPerS - (System.nanoTime() - startedNanos) / 1_000_000;
            if (earlyMs > 0) {
                try {
                    Thread.sleep(earlyMs);
                } catch (InterruptedException interrupted) {
                    throw new IOException("lab: the upload was called off", interrupted);
                }
            }
        }

        @Override
        public long getPos() throws IOException {
            return out.getPos();
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public void sync() throws IOException {
            out.sync();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
