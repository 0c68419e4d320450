package lab;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * {@code hdfs://lab/folder}: local files behind Flink's own HDFS file system. Each call that an HDFS client would send to its NameNode is a
 * line of a file of this process: time, kind, path, bytes.
 *
 * <p>Blocks are those of the HDFS client: one is asked for as the first byte of it is written (addBlock), a flush makes new ones known to
 * the NameNode (fsync), and the end of the file is one call more (complete).
 */
public final class CountedHdfs extends FileSystem {
    private static final long BLOCK_BYTES = 128L << 20;
    private static final Object LOCK = new Object();
    private static OutputStream lines;

    private final RawLocalFileSystem local = new RawLocalFileSystem();
    private URI uri;

    @Override
    public void initialize(URI name, Configuration configuration) throws IOException {
        super.initialize(name, configuration);
        setConf(configuration);
        uri = URI.create("hdfs://" + name.getAuthority());
        local.initialize(URI.create("file:///"), configuration);
        synchronized (LOCK) {
            if (lines == null) {
                long pid = Long.parseLong(java.lang.management.ManagementFactory.getRuntimeMXBean().getName().split("@")[0]);
                lines = new FileOutputStream(configuration.get("lab.calls") + "/calls-" + pid + ".tsv", true);
            }
        }
    }

    private static void count(String kind, Path path, long bytes) throws IOException {
        String line = System.currentTimeMillis() + "\t" + kind + "\t" + path.toUri().getPath() + "\t" + bytes + "\n";
        synchronized (LOCK) {
            lines.write(line.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static Path there(Path path) {
        return new Path(path.toUri().getPath());
    }

    @Override
    public String getScheme() {
        return "hdfs";
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public FSDataOutputStream create(
            Path path, FsPermission permission, boolean overwrite, int buffer, short replication, long block, Progressable progress)
            throws IOException {
        count("create", path, 0);
        return new FSDataOutputStream(new Counted(path, local.create(there(path), overwrite, buffer, replication, block)), null);
    }

    @Override
    public FSDataOutputStream append(Path path, int buffer, Progressable progress) throws IOException {
        throw new UnsupportedOperationException();
    }

    @Override
    public FSDataInputStream open(Path path, int buffer) throws IOException {
        count("getBlockLocations", path, 0);
        return local.open(there(path), buffer);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        count("rename", to, 0);
        return local.rename(there(from), there(to));
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        count("delete", path, 0);
        return local.delete(there(path), recursive);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        count("mkdirs", path, 0);
        return local.mkdirs(there(path));
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        count("getFileInfo", path, 0);
        return as(local.getFileStatus(there(path)));
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        count("getListing", path, 0);
        FileStatus[] found = local.listStatus(there(path));
        for (int position = 0; position < found.length; position++) {
            found[position] = as(found[position]);
        }
        return found;
    }

    private FileStatus as(FileStatus found) {
        Path path = new Path(uri.getScheme(), uri.getAuthority(), found.getPath().toUri().getPath());
        long modified = found.getModificationTime();
        return new FileStatus(found.getLen(), found.isDirectory(), 1, BLOCK_BYTES, modified, path);
    }

    @Override
    public void setWorkingDirectory(Path path) {
        local.setWorkingDirectory(there(path));
    }

    @Override
    public Path getWorkingDirectory() {
        return new Path(uri.getScheme(), uri.getAuthority(), local.getWorkingDirectory().toUri().getPath());
    }

    private static final class Counted extends OutputStream implements Syncable {
        private final Path path;
        private final FSDataOutputStream out;
        private long written;
        private long blocks;
        private boolean hasNewBlock;
        private boolean isClosed;

        Counted(Path path, FSDataOutputStream out) {
            this.path = path;
            this.out = out;
        }

        @Override
        public void write(int one) throws IOException {
            out.write(one);
            wrote(1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
            wrote(length);
        }

        private void wrote(int length) throws IOException {
            written += length;
            for (; blocks * BLOCK_BYTES < written; blocks++) {
                count("addBlock", path, 0);
                hasNewBlock = true;
            }
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public void hflush() throws IOException {
            out.hflush();
            if (hasNewBlock) {
                count("fsync", path, 0);
                hasNewBlock = false;
            }
        }

        @Override
        public void hsync() throws IOException {
            out.hsync();
            hflush();
        }

        @Override
        public void close() throws IOException {
            if (!isClosed) {
                isClosed = true;
                out.close();
                count("complete", path, written);
            }
        }
    }
}
