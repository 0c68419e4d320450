import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * ListHandles FILE…: every stream that Flink's own loader finds in a _metadata, as tab-separated lines
 * "file, operator, subtask (-1: coordinator), class, path or name, bytes". Objects are walked by their fields,
 * so that no release's getters matter.
 */
public class ListHandles {
  private final String prefix;
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  private ListHandles(String prefix) {
    this.prefix = prefix;
  }

  public static void main(String[] files) throws Exception {
    for (String name : files) {
      File file = new File(name);
      try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
        String pointer = "file:" + file.getAbsoluteFile().getParent();
        for (OperatorState operator : Checkpoints.loadCheckpointMetadata(in, ListHandles.class.getClassLoader(), pointer).getOperatorStates()) {
          String whose = name + "\t" + operator.getOperatorID() + "\t";
          new ListHandles(whose + "-1").walk(operator.getCoordinatorState());
          for (Map.Entry<Integer, OperatorSubtaskState> subtask : operator.getSubtaskStates().entrySet()) {
            new ListHandles(whose + subtask.getKey()).walk(subtask.getValue());
          }
        }
      }
    }
  }

  private void walk(Object value) throws ReflectiveOperationException {
    if (value == null || !seen.add(value)) {
      return;
    }
    if (value instanceof FileStateHandle) {
      print((FileStateHandle) value, ((FileStateHandle) value).getFilePath().toString());
    } else if (value instanceof ByteStreamStateHandle) {
      print((ByteStreamStateHandle) value, ((ByteStreamStateHandle) value).getHandleName());
    } else if (value.getClass().getSimpleName().equals("EmptySegmentFileStateHandle")) {
      print((StreamStateHandle) value, "");
    } else if (value.getClass().getSimpleName().equals("SegmentFileStateHandle")) {
      // No release before 1.20 has this class.
      Field path = value.getClass().getDeclaredField("filePath");
      path.setAccessible(true);
      print((StreamStateHandle) value, path.get(value).toString());
    } else if (value instanceof Collection) {
      for (Object item : (Collection<?>) value) {
        walk(item);
      }
    } else if (value instanceof Map) {
      for (Object item : ((Map<?, ?>) value).values()) {
        walk(item);
      }
    } else if (value instanceof Optional) {
      walk(((Optional<?>) value).orElse(null));
    } else if (value.getClass().getName().startsWith("org.apache.flink.runtime.")) {
      for (Class<?> level = value.getClass(); level.getName().startsWith("org.apache.flink."); level = level.getSuperclass()) {
        for (Field field : level.getDeclaredFields()) {
          if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
            field.setAccessible(true);
            walk(field.get(value));
          }
        }
      }
    }
  }

  private void print(StreamStateHandle handle, String name) {
    System.out.println(prefix + "\t" + handle.getClass().getSimpleName() + "\t" + name + "\t" + handle.getStateSize());
  }
}
