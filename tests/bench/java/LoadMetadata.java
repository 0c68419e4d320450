import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

/** LoadMetadata RUNS FILE…: Flink's own loader in a warm JVM; prints "seconds references" of each run, a line per file. */
public class LoadMetadata {
  public static void main(String[] args) throws Exception {
    int runs = Integer.parseInt(args[0]);
    for (int file = 1; file < args.length; file++) {
      StringBuilder line = new StringBuilder();
      for (int run = 0; run < runs; run++) {
        System.gc();
        long started = System.nanoTime();
        CheckpointMetadata loaded = load(new File(args[file]));
        double seconds = (System.nanoTime() - started) / 1e9;
        line.append(seconds).append(' ').append(references(loaded)).append(' ');
      }
      System.out.println(line.toString().trim());
    }
  }

  private static CheckpointMetadata load(File file) throws Exception {
    try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))) {
      return Checkpoints.loadCheckpointMetadata(in, LoadMetadata.class.getClassLoader(), "file:" + file.getAbsoluteFile().getParent());
    }
  }

  private static long references(CheckpointMetadata loaded) {
    long references = 0;
    for (OperatorState operator : loaded.getOperatorStates()) {
      for (OperatorSubtaskState subtask : operator.getStates()) {
        for (KeyedStateHandle handle : subtask.getManagedKeyedState()) {
          IncrementalRemoteKeyedStateHandle incremental = (IncrementalRemoteKeyedStateHandle) handle;
          references += incremental.getSharedState().size() + incremental.getPrivateState().size();
        }
      }
    }
    return references;
  }
}
